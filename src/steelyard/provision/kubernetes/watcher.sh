# Process 1 of a pod: it holds the pod for as long as somebody renews the lease. PLACE FIRST SLICES SECONDS
#
# It lives for FIRST slices of so many seconds; a signal USR1 renews it for SLICES more. When its time is over it exits
# with 0: its Job is then complete, and goes by its time to live. After SIGTERM the pod was taken away, and the Job is
# to fill its place anew.
place=$1 left=$2 slices=$3 seconds=$4
trap 'left=$slices' USR1
trap 'exit 143' TERM INT
umask 077
# Everybody in the pod may write the volume, and nobody else: the agent is told to trust it.
mkdir -p "$TMPDIR" "$HOME/.config/steelyard" || exit 64
echo "$place" >"$HOME/.config/steelyard/trusted"
echo $$ >"$HOME/.steelyard-watcher"
while [ "$left" -gt 0 ]; do
    sleep "$seconds" &
    wait $! || kill -KILL $! # a signal ended the wait, not the sleep, which may still be a copy of us with our traps
    left=$((left - 1))
done
exit 0
