"""The agent on a far host, and the controller's side of it, which speak docs/reference/agent-protocol.md."""
