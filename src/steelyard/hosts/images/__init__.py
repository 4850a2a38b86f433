"""Images on hosts: made there, once for all runs of a user, and the archives that some are made of."""
