"""The handles: the methods of each noun for one user. They validate input, open transactions and call the rooms."""
