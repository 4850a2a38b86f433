"""Find or install what a workload or service needs."""
