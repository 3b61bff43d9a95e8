"""The doors: ways in, each thin over the memory; no door knows another."""
