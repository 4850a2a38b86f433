"""What the keys of an experiment file hold, each as a frozen value."""
