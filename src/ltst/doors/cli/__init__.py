"""The `ltst` command."""
