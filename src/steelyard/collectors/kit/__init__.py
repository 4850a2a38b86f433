"""What several collectors share."""
