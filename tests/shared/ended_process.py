"""A process that ends between the opening of a file that tells of it and the reading of it, each time."""

from __future__ import annotations

# Shell, for a mount namespace: `end_as_read PID FILE`, for /proc/PID/FILE. PID itself lives.
END_AS_READ = """
end_as_read() {
    sleep 300 & ended=$!
    mount --bind "/proc/$ended/$2" "/proc/$1/$2"
    kill "$ended"
    wait "$ended" 2>/dev/null || :
}
"""
