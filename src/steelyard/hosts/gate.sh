# Wait for an instant, then become a program: AT RECORD PROGRAM WORD...
# AT is in ns of the wall clock. `RELEASED STARTED` (ns; this gate knows only the first) goes to the file RECORD.
# Any POSIX shell will do. Another shell below it waits, best bash 5: it tells the time and waits without starting
# sleep(1) or date(1), which is what costs when many wake at once. It is not bash that becomes the program, for an
# exec of a larger process takes longer; and all of that comes after the instant, one after the other on each core.
# Variables begin with sy_, so that none of the program's is changed.
# An agent leaves it stream 3, its events, to say that it is ready: what begins late was not waited for.
sy_wait='
if [ "${BASH_VERSION-}" ] && [ "${EPOCHREALTIME-}" ] && eval "exec 9<> <(:)" 2>/dev/null; then
    now() { sy_now=$EPOCHREALTIME; sy_now=${sy_now%[.,]*}${sy_now#*[.,]}000; }
    pause() { read -r -t "$1" -u 9; }
else
    now() {
        sy_now=$(date +%s%N)
        case $sy_now in *[!0-9]*) sy_now=${sy_now%%[!0-9]*}000000000 ;; esac
    }
    pause() { sleep "$1" 2>/dev/null || sleep "${1%.*}"; }
fi

# What a pause costs beyond its length, with the reading of the clock after it: it is made that much shorter.
now
sy_before=$sy_now
pause 0.01
now
sy_cost=$((sy_now - sy_before - 10000000))
[ "$sy_cost" -ge 0 ] || sy_cost=0
[ "$sy_cost" -le 4000000 ] || sy_cost=4000000

if true >"$2"; then exec >"$2"; else exec >/dev/null; fi
{ printf "started %s %s\n" "$STEELYARD_CHILD" $PPID >&3; } 2>/dev/null
exec 3>&-
now
sy_left=$(($1 - sy_now - sy_cost))
if [ "$sy_left" -gt 0 ]; then
    sy_part=$((sy_left % 1000000000 + 1000000000))
    pause $((sy_left / 1000000000)).${sy_part#1}
fi
now
while [ "$sy_now" -lt "$1" ]; do now; done
printf "%s -\n" "$sy_now"
'
sy_at=$1 sy_record=$2
shift 2
if command -v bash >/dev/null; then
    # Without start-up files: below an sshd, and with BASH_ENV, bash would read some.
    bash --norc -p -c "$sy_wait" sh "$sy_at" "$sy_record" || exit
else
    sh -c "$sy_wait" sh "$sy_at" "$sy_record" || exit
fi
exec "$@" 3>&-
