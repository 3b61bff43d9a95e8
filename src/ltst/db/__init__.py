"""The ground floor: the only place that knows the driver, the server and the schema."""
