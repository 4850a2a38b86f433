"""The minder: a small process that starts every child of a run and, whatever happens, ends every one of them.

It is the agent of the controller's own machine and speaks docs/reference/agent-protocol.md as all do. Its
requests are `start`, `kill`, `scratch` and `forget`. It is started by the path of this folder, ``python -I -S
<folder> TOKEN``: only the standard library is there, and as little of it as possible is imported, so that it
is ready in some 15 ms and stays small. Its standard input is the lease: one end of a stream socket pair whose
other end only the controller holds; so is its standard output.

The lease is over when it is closed, the controller is dead, SIGTERM comes, or a request makes no sense. Then
the minder ends all its descendants, removes the scratch directories it was told of, and exits. It is their
subreaper (prctl(2), PR_SET_CHILD_SUBREAPER): a descendant whose parent dies becomes its child, so daemonising
is no escape.
"""

from __future__ import annotations

TOKEN_VARIABLE = "STEELYARD_TOKEN"  # noqa: S105 - no secret, the name of a variable
CHILD_VARIABLE = "STEELYARD_CHILD"
SCRATCH_MARKER = ".steelyard-scratch"
