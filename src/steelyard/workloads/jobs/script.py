"""What a job runs: a script of the shell that stamps its start and end and those of its processes. Pure.

A stamp is a line of `date`, in seconds and nanoseconds of the wall clock of the host that the job is on.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import PurePosixPath

from steelyard.plugin import Command

NAME, STAMPS, HOLD = "job.sh", "stamps", "hold"
# A process that was just forked may lose a signal. So whoever is asked to end asks its children each time
# that it is asked itself, and waits for them.
_STAMPED = (
    "date +%s.%N; child= over=; trap 'over=yes; kill $child 2>/dev/null' TERM; "
    '"$@" >&2 & child=$!; [ -z "$over" ] || kill $child; wait $child; code=$?; '
    "while kill -0 $child 2>/dev/null; do wait $child; code=$?; done; date +%s.%N; exit $code"
)
_HELD = 'while [ -e "$0" ]; do sleep 0.5; done'

# The name of a stamp is the job's number and that of its submission. The stamps of a job appear as a whole,
# by renaming. An engine warns of the limit by USR1. A job whose run has ended finds no directory, and ends;
# so does one that misses the script that was there before it, since a directory outlasts its removal where
# a job writes to it at the same time. The watch begins before any trap is set, since a shell that was just
# forked loses signals that its parent traps; it ends with the job all the same, and never signals what has
# got the job's pid later. It signals once a second; the tenth signal cannot be refused, and leaves what the
# job has started to the engine.
_SHARED = """\
cd {directory} && [ -d stamps ] || exit 0
began=$(date +%s.%N)
file=stamps/$1
echo "$began" >"$file.began"
born() {{ cut -d ' ' -f 22 /proc/$$/stat; }}
since=$(born)
(
    trap 'kill $pause; exit' TERM
    rest() {{ sleep 1 & pause=$!; wait $pause; }}
    while [ -e {name} ] && [ -e "$file.began" ] && [ ! -e "$file" ]; do rest; done
    for signal in TERM TERM TERM TERM TERM TERM TERM TERM TERM KILL; do
        [ ! -e "$file" ] && [ "$(born)" = "$since" ] || break
        kill -$signal $$
        rest
    done
) >/dev/null 2>&1 &
watch=$!
"""
_ALONE = """\
began=$(date +%s.%N)
file=$1 watch=
"""
_PROCESSES = """\
program() {{
    {program}
}}
pids= over=
trap : USR1
trap 'over=yes; kill $pids 2>/dev/null' TERM
i=0
while [ -z "$over" ] && [ $i -lt {processes} ]; do
    program >"$file.$i" 2>>output </dev/null &
    pids="$pids $!" i=$((i + 1))
done
code=0
[ -z "$over" ] || kill $pids 2>/dev/null
for pid in $pids; do
    wait "$pid"; one=$?
    while kill -0 "$pid" 2>/dev/null; do wait "$pid"; one=$?; done
    [ $one -eq 0 ] || code=$one
done
[ -z "$over" ] || {{ kill $watch 2>/dev/null; exit 143; }}
ended=$(date +%s.%N)
report() {{
    echo "began $began"; echo "host $(uname -n)"
    i=0
    while [ $i -lt {processes} ]; do echo "process $(tr '\\n' ' ' <"$file.$i")"; i=$((i + 1)); done
    echo "ended $ended $code"
}}
"""
_KEEP = """\
kill $watch
report >"$file.new"
mv "$file.new" "$file"
exit $code
"""
# Of processes that have both their stamps, the last start and the last end say as much as all: an engine
# may keep little of what a job prints.
_TELL = """\
report | awk '
    $1 != "process" || NF < 3 {{ print; next }}
    {{ if ($2 "" > start) start = $2; if ($3 "" > end) end = $3 }}
    END {{ if (start) print "process", start, end }}
' | tr '\\n' ';'
exit $code
"""


def stamp_program(program: Sequence[str]) -> Command:
    """A process of a job, which tells when it began and ended, inside of what surrounds it."""
    return Command(("sh", "-c", _STAMPED, "sh", *program))


def hold_program(scratch: PurePosixPath) -> tuple[str, ...]:
    """A program that lasts until a file is gone."""
    return ("sh", "-c", _HELD, str(scratch / HOLD))


def write_script(scratch: PurePosixPath, processes: int, command: Command) -> str:
    """The script of all jobs that see our scratch; its argument is the name of the stamp. `command` is what
    each process is.
    """
    text = _SHARED + _PROCESSES + _KEEP
    directory = shlex.quote(str(scratch))
    return text.format(directory=directory, name=NAME, program=_write_start(command), processes=processes)


def write_lone_script(processes: int, command: Command) -> str:
    """The same for jobs that see no file of ours: its stamps are what it prints, in one line."""
    text = _ALONE + _PROCESSES + _TELL
    return text.format(program=_write_start(command), processes=processes)


def _write_start(command: Command) -> str:
    words = [*(f"{name}={value}" for name, value in command.variables.items()), *command.argv]
    start = "exec " + shlex.join(["env", *words] if command.variables else words)
    return f"cd {shlex.quote(str(command.cwd))} && {start}" if command.cwd else start
