"""What a file would run: worked out without doing any of it, and told in words."""
