"""A job of fio: its options, its output, and what they say about each other."""
