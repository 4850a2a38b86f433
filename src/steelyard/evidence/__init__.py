"""What is always recorded of a machine, so that a result can be judged. No plug-ins: those are collectors."""
