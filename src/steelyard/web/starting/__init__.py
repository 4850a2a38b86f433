"""Starts runs that live on without the server."""
