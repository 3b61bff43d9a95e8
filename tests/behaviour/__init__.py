"""What ltst does, said once and asked of every way in."""
