"""Indexing: gives everything that can be searched its words and vectors, and changes the embedding model."""
