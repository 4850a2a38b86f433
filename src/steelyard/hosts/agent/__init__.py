"""The agent on a far host, and the controller's side of it. docs/agent-protocol.md is what they speak."""
