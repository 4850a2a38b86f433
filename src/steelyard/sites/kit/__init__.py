"""What several sites share."""
