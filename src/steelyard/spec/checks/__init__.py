"""What is wrong with an experiment beyond the form of one key: names, plug-ins, and what depends on what."""
