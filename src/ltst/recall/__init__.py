"""Answering: turns a question into the memories that go with it, and those into a prompt."""
