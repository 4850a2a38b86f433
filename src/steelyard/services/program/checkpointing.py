"""Have a server of the user's save its state on its host."""

from __future__ import annotations

from steelyard.plugin import Command

# The file must be another one than before: a server that forgets to save must not pass for one that did. It
# is on the disk when this ends, and its size is what it prints.
_SAVE = r"""
identify() { stat -c '%d %i %s %y' -- "$1" 2>/dev/null || :; }
fail() { echo "$1" >&2; exit 1; }
file=$1 process=$2 signal=$3; shift 3
before=$(identify "$file")
if [ -n "$signal" ]; then
    kill -s "$signal" "$process"
    while now=$(identify "$file"); [ -z "$now" ] || [ "$now" = "$before" ]; do
        kill -0 "$process" 2>/dev/null || fail "it ended before it had saved its state in $file"
        sleep 0.01
    done
else
    "$@"
fi
sync -- "$file" "$(dirname -- "$file")"
stat -c %s -- "$file"
"""
_SIZE = 'stat -c %s -- "$1"'


def make_save_command(file: str, process: int, signal: str, command: tuple[str, ...]) -> Command:
    """Ask a process for its state by a signal, or where that is empty by a command; prints its size."""
    return Command(("sh", "-eu", "-c", _SAVE, "sh", file, str(process), signal.removeprefix("SIG"), *command))


def make_size_command(file: str) -> Command:
    """Print the size of a state file; fails where there is none."""
    return Command(("sh", "-eu", "-c", _SIZE, "sh", file))
