"""The actions of `steelyard cluster`, one file each, and what they share."""
