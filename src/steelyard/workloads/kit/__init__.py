"""What several workloads share: clients of services, JSON documents, latency logs."""
