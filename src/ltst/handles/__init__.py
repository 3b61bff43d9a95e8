"""The handles: the verbs of each noun, for one user. They check what comes in, open transactions, ask the rooms."""
