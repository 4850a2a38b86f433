"""What is recorded beside the workload; one small file per collector."""
