"""What is derived from what was said: claims and statements about who said it, episodes and summaries."""
