"""What all batch schedulers share: submission, allocation, job control."""
