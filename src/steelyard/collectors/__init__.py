"""What is recorded beside the workload; one small file per collector, found by its file name."""
