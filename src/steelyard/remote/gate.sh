# Wait for an instant, then become a program: AT RECORD PROGRAM WORD...
# AT is in ns of the wall clock. `RELEASED STARTED` (ns; this gate knows only the first) goes to the file RECORD.
# Any POSIX shell will do. bash 5 does better: it tells the time and waits without starting sleep(1) or date(1),
# which is what costs when many wake at once. Variables begin with sy_, so that none of the program's is changed.
# An agent leaves it stream 3, its events, to say that it is ready: what begins late was not waited for.
sy_at=$1 sy_record=$2
shift 2

if [ "${BASH_VERSION-}" ] && [ "${EPOCHREALTIME-}" ] && eval 'exec 9<> <(:)' 2>/dev/null; then
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

{ printf 'started %s %s\n' "$STEELYARD_CHILD" $$ >&3; } 2>/dev/null
exec 3>&-
now
sy_left=$((sy_at - sy_now - sy_cost))
if [ "$sy_left" -gt 0 ]; then
    sy_part=$((sy_left % 1000000000 + 1000000000))
    pause $((sy_left / 1000000000)).${sy_part#1}
fi
now
while [ "$sy_now" -lt "$sy_at" ]; do now; done
[ "${BASH_VERSION-}" ] && exec 9>&-
printf '%s -\n' "$sy_now" >"$sy_record"
exec "$@"
