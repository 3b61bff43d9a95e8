"""Agents: who answers in a chat, and how one turn of it runs."""
