"""Everything that knows the driver, the server and the schema; no other package does."""
