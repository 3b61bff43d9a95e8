"""What is learnt from conversations."""
