"""What is told again of conversations."""
