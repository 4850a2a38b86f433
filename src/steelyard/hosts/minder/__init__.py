"""The minder: a small process that starts every child of a run and, whatever happens, ends every one of them.

It is started by the path of this folder, ``python -I -S <folder> TOKEN``: only the standard library is there,
and as little of it as possible is imported, so that it is ready in some 15 ms and stays small. Its standard
input is the lease: one end of a stream socket pair whose other end only the controller holds. Messages are
lines of ASCII JSON; bytes that are not UTF-8 travel as lone surrogates (PEP 383).

    controller -> minder                                     minder -> controller
                                                             {event: ready}
    {do: start, id, argv, env, cwd, stdin, stdout, stderr}   {event: started, id, pid, started, clock}
                                                             {event: failed, id, what, errno}
    {do: kill, id, grace}                                    {event: exited, id, code, signal, wall, user,
                                                              system, peak_memory, peak_is_bound,
                                                              leftovers}
    {do: scratch, id, path, mark}                            {event: scratch, id, errno, why}
    {do: unscratch, path}

The lease is over when it is closed, the controller is dead, SIGTERM comes, or a message makes no sense. Then
the minder ends all its descendants, removes the scratch directories it was told of, and exits. It is their
subreaper (prctl(2), PR_SET_CHILD_SUBREAPER): a descendant whose parent dies becomes its child, so daemonising
is no escape.
"""

from __future__ import annotations

TOKEN_VARIABLE = "STEELYARD_TOKEN"  # noqa: S105 - no secret, the name of a variable
CHILD_VARIABLE = "STEELYARD_CHILD"
SCRATCH_MARKER = ".steelyard-scratch"
