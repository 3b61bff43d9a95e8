"""Learning: derives claims and statements about the user from the user's own messages."""
