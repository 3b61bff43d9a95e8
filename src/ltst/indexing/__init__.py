"""What is found again: words and vectors of everything that can be searched for, and the change of their model."""
