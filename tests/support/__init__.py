"""The tests of ltst.support."""
