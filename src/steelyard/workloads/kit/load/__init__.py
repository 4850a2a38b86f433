"""The driver of requests that are due at their instants: how it is asked, and what its output says."""
