"""A run as a research object to publish: RO-Crate."""
