"""What changes while somebody looks: read once, drawn once, and sent to all who look."""
