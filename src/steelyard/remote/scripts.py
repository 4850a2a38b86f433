"""Small POSIX scripts that a far host runs for us; what they act on comes as `$1`, `$2` …, not as text."""

from __future__ import annotations

FACTS = r"""unset OMP_NUM_THREADS OMP_THREAD_LIMIT # nproc(1) would believe them
cores=$(nproc || getconf _NPROCESSORS_ONLN || echo 1)
memory=$(sed -n 's/^MemTotal: *\([0-9]*\) kB$/\1/p' /proc/meminfo)
boot=$(cat /proc/sys/kernel/random/boot_id)
read -r stat </proc/$PPID/stat
set -- ${stat##*) }
printf '%s\n' "$cores" "$memory" "$boot" "$PPID" "$2" "${TMPDIR:-/tmp}"
"""

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

MAKE_DIRECTORY = 'exec 2>&1; [ -d "$1" ] || mkdir "$1"'

REMOVE_DIRECTORY = 'exec 2>&1; rm -rf "$1"'

REMOVE_SCRATCH = """exec 2>&1
[ -e "$1" ] || exit 0
[ ! -h "$1" ] && [ "$(cat "$1/.steelyard-scratch" 2>/dev/null)" = "$2" ] || exit 0 # it is not ours
cd "$1" || exit
find . -xdev ! -type d ! -path ./.steelyard-scratch -exec rm -f {} +
find . -xdev -depth -type d ! -name . -exec rmdir {} + || exit
rm -f .steelyard-scratch && cd / && rmdir "$1" || exit
[ -z "$3" ] || rmdir "$3" 2>/dev/null || : # others may use the parent by now
"""

FREE_SPACE = """exec 2>&1
place=$1
until [ -e "$place" ]; do
    place=${place%/*}
    place=${place:-/}
done
LC_ALL=C df -P -k "$place"
"""

DROP_CACHES = "echo 3 >/proc/sys/vm/drop_caches"

WRITE = 'exec 2>&1; printf %s "$2" >"$1"'

MAY_RUN = 'exec 2>&1; "$1" clock'

FORMER_AGENT = """case $(tr '\\0' ' ' </proc/$1/cmdline) in *"$2"*) kill -TERM "$1" ;; esac
set -- "$1" "$2" "$3" "${TMPDIR:-/tmp}"/steelyard-agent-"$1".*
while [ "$3" -gt 0 ]; do
    [ -e "$4" ] || case $(tr '\\0' ' ' </proc/$1/cmdline) in *"$2"*) ;; *) exit 0 ;; esac
    sleep 1
    set -- "$1" "$2" $(($3 - 1)) "$4"
done
exit 1
"""
"""Ask an agent whose controller lost it to end, by pid and token; wait so many seconds until it is gone."""
