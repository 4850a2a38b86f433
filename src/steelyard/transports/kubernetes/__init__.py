"""Pods of a Kubernetes cluster, reached through its API server: each script is an exec stream."""
