"""The fixtures of everything that is learnt."""

from helpers.shared_memory import language, shared, small, user

__all__ = ["language", "shared", "small", "user"]
