"""One module per kind of stored record, with the queries that read and write it. Rooms do not import each other."""
