"""The programs of the workload `checkpoint`, which run on hosts with the standard library of Python 3.9.

`verifier` starts a unit (`unit`), lets it work, has it saved, kills it, has it restored and checks it from
outside. How that is done is a way, of which each has a file in `ways/`.
`ipc/` has the objects of the kernel that can be saved in place of a unit's memory.
"""
