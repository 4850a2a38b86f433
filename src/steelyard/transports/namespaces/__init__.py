"""Network namespaces of this machine as hosts."""
