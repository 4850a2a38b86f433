"""What is run and measured; one small file per workload, found by its file name."""
