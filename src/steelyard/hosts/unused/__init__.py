"""What nobody else has: ids of accounts, and ports."""
