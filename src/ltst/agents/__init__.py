"""Agents that answer in a chat, and the machinery that runs one turn of it."""
