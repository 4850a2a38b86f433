"""Objects of System V that outlive processes: shared memory, message queues, semaphores."""
