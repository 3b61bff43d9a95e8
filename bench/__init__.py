"""What ltst costs and what it survives, measured on the machine at hand."""
