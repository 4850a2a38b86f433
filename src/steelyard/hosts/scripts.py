"""Small POSIX scripts that a far host runs for us; what they act on comes as `$1`, `$2` …, not as text."""

from __future__ import annotations

_STAT_OF = r"""stat_of() { # PID: what follows its name, which may hold anything, newlines too
    stat=
    while IFS= read -r line; do stat=$line; done <"/proc/$1/stat"
    stat=${stat##*)}
}
"""

FACTS = (
    _STAT_OF
    + r"""unset OMP_NUM_THREADS OMP_THREAD_LIMIT # nproc(1) would believe them
cores=$(nproc || getconf _NPROCESSORS_ONLN || echo 1)
memory=$(sed -n 's/^MemTotal: *\([0-9]*\) kB$/\1/p' /proc/meminfo)
boot=$(cat /proc/sys/kernel/random/boot_id)
stat_of $PPID
set -- $stat
agent=$2
stat_of "$agent"
set -- $stat
printf '%s\n' "$cores" "$memory" "$boot" "$PPID" "$agent" "${20}"
"""
)
"""The last three: the agent's subshell that runs this, the agent, when that began (in ticks since boot)."""

WHICH = """case $1 in
*/*) [ -f "$1" ] && [ -x "$1" ] && printf %s "$1"; exit ;;
esac
set -f
IFS=:
for place in $PATH; do
    [ -f "${place:-.}/$1" ] && [ -x "${place:-.}/$1" ] && printf %s "${place:-.}/$1" && exit
done
exit 1
"""

CAPTURE = 'exec "$@" 2>&1'

MAKE_DIRECTORY = 'exec 2>&1; [ -d "$1" ] || mkdir -m 700 "$1"'

REMOVE_DIRECTORY = 'exec 2>&1; rm -rf "$1"'

FREE_SPACE = """exec 2>&1
place=$1
until [ -e "$place" ]; do
    place=${place%/*}
    place=${place:-/}
done
LC_ALL=C df -P -k "$place"
"""

DROP_CACHES = "echo 3 >/proc/sys/vm/drop_caches"

MAY_RUN = 'exec 2>&1; "$1" clock'

FORMER_AGENT = (
    _STAT_OF
    + r"""lives() { # PID START: no other process can have both
    stat_of "$1"
    set -- "$2" $stat
    [ $# -gt 20 ] && [ "${21}" = "$1" ] && case $2 in [ZX]) false ;; esac
}
if lives "$1" "$2"; then kill -TERM "$1"; fi
while lives "$1" "$2" || { [ "$4" ] && [ -e "$4" ]; }; do
    [ "$3" -gt 0 ] || exit 1
    sleep 1
    set -- "$1" "$2" $(($3 - 1)) "$4"
done
"""
)
"""Ask an agent whose controller lost it to end, by its pid and its start; wait so many seconds until it is
gone, and the directory that it removes last."""
