"""A run's figures in the forms that continuous integration services and their trackers read."""
