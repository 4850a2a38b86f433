"""A key-value server and all that it takes to measure it with Steelyard: one plug-in a file."""
