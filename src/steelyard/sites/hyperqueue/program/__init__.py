"""A command for HyperQueue's server: `submit`, `status`, `cancel` …; and the `task` that its workers start.

    program [--server-dir DIR] submit --name N … -- SHELL    the script on standard input; prints the job's id
    program [--server-dir DIR] status ID…                    a JSON list of the jobs that the server knows
    program [--server-dir DIR] cancel ID
    program [--server-dir DIR] list NAME                     the ids of jobs of this name that are not over
    program [--server-dir DIR] cancel-named NAME
    program task --notes DIR … -- SHELL                      the script on standard input

HyperQueue's Python package submits jobs and tells which have ended. It can neither cancel a job nor limit its
time, and does not tell where it runs. So `task` surrounds the script on its worker: it notes host and start,
ends the script at its limit or when `cancel` asks, and notes why. Nor can it list jobs by their names, which
`submit` notes for that. `task` needs Python alone, all others need the package.
"""
