"""Units in a ring, saved at one moment: each sends messages to its right neighbour all the time."""
