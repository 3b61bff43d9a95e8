"""Providers: the models that ltst asks, each behind a protocol, none of them loaded before it is used."""
