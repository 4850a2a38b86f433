"""Bubblewrap."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from steelyard.environments.kit.skeleton import IS_WHOLE, OWN, list_arguments, write_loop
from steelyard.plugin.environment import Environment, Inside, Tool

# A user namespace of its own would have one account. Who may do without (root, which may mount and change
# accounts) gets none, and leaves everything but accounts behind: a server inside can still give up root.
_START = """\
start() {
    while IFS=: read -r name value && [ "$name" != CapEff ]; do :; done < /proc/self/status
    may=0x${value#?}
    if [ $((may & 0x2000c0)) -eq $((0x2000c0)) ]; then
        exec bwrap --cap-drop ALL --cap-add CAP_SETUID --cap-add CAP_SETGID "$@"
    fi
    exec bwrap --unshare-user-try "$@"
}
"""
# For each mount it reads the table of all mounts: empty directories and links into /usr are made instead.
_ADD = """{
            for inner in "$found"/* "$found"/.[!.]*; do [ ! -e "$inner" ] || break; done
            if [ -L "$found" ] && [ "$found" -ef "$image/usr$name" ]; then
                set -- "$@" --symlink "usr$name" "$name"
            elif [ -d "$found" ] && [ ! -e "$inner" ]; then
                set -- "$@" --dir "$name"
            else
                set -- "$@" --ro-bind "$found" "$name"
            fi
        }"""
# An image that has every mount point is mounted whole, which takes a fifth less. Bubblewrap mounts in the
# order of its options, so the image, or its parts, come before all that was given.
_SCRIPT = f"""\
{_START}\
given=$(($# - 3 - $3))
{IS_WHOLE}\
[ -z "$whole" ] || {{ image=$1; shift $((3 + $3)); start --ro-bind "$image" / --tmpfs /sys "$@"; }}
{write_loop(_ADD)}\
while [ "$given" -gt 0 ]; do set -- "$@" "$1"; shift; given=$((given - 1)); done
start "$@"
"""


class Bubblewrap(Environment):
    """Containers by Bubblewrap, which takes milliseconds and no daemon: an unpacked directory, or the host.

    The program has process, mount, IPC and host-name namespaces of its own, a /tmp of its own, an image that
    it cannot change, and its host's network. It dies with what started it. Source: bwrap(1) of Bubblewrap
    0.8.
    """

    images = frozenset({"directory", "host"})
    needs = (Tool("bwrap", apt="bubblewrap", dnf="bubblewrap"),)

    def words(self, argv: tuple[str, ...], inside: Inside, variables: list[str]) -> Iterator[str]:
        """Variables reach the program by themselves."""
        if inside.image:
            yield from ("sh", "-c", _SCRIPT, "sh", *list_arguments(inside.image, inside.mounts, *OWN))
        else:
            yield from ("sh", "-c", f'{_START}start "$@"', "sh", "--ro-bind", "/", "/")
        # An init of Bubblewrap's would still be ending when Bubblewrap itself has ended.
        yield from ("--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try")
        yield from ("--as-pid-1", "--die-with-parent")
        yield from ("--proc", "/proc", "--dev", "/dev")
        yield from ("--ro-bind", "/sys/devices", "/sys/devices", "--tmpfs", "/tmp")  # noqa: S108
        for path in inside.mounts:
            for above in [*PurePosixPath(path).parents][-2::-1]:
                yield from ("--dir", str(above))  # by itself it would make some that root alone may enter
            yield from ("--bind", path, path)
        yield from ("--remount-ro", "/", "--chdir", inside.at, "--", *argv)
