"""The agent on a far host, and the controller's side of all agents: docs/reference/agent-protocol.md."""
