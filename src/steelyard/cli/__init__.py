"""The command line: one file per command, which parses and prints and does nothing else."""
