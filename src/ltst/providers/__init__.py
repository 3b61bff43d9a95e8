"""Providers: the models that ltst calls, each behind a protocol, and none of them loaded before it is used."""
