"""Act on one host: start, read, put, remove; and make sure that nothing is left behind."""
