"""gVisor."""

from __future__ import annotations

import json
from collections.abc import Iterator

from steelyard.environments.kit.skeleton import OWN, list_arguments, write_loop
from steelyard.plugin.environment import Environment, Inside, Tool

_ACCOUNTS = ("CAP_SETUID", "CAP_SETGID")  # a server of root gives itself up
_BUNDLE, _PARTS = "<the bundle>", "<the parts>"
# The variables are handed on by a file that the user alone may read: words are for everybody to see.
_SCRIPT = (
    "place=$1 start=$2 middle=$3 rest=$4; shift 4; parts=\n"
    + write_loop(
        'parts="$parts{\\"destination\\":\\"$name\\",\\"type\\":\\"bind\\",\\"source\\":\\"$found\\",'
        '\\"options\\":[\\"rbind\\",\\"ro\\"]},"'
    )
    + """\
umask 077
bundle=$(mktemp -d "$place/.gvisor-XXXXXX") && mkdir -m 0755 "$bundle/root" || exit 125
export -p > "$bundle/variables"
printf '%s' "$start$bundle$middle$parts$rest" > "$bundle/config.json"
[ "$(id -u)" = 0 ] || set -- --rootless
exec runsc --root "$bundle/state" --network=host --ignore-cgroups "$@" run --bundle "$bundle" "${bundle##*/.}"
"""
)


class Gvisor(Environment):
    """Containers by gVisor's runsc: system calls go to a kernel of its own that is a program of its host.

    Each system call takes much longer than on the host (Young et al., The True Cost of Containing, HotCloud
    2019), which is what to look at. The program has all namespaces of its own, an image that it cannot
    change, a /tmp of its own, and its host's network. Source: runsc(1), the OCI runtime specification 1.0.
    """

    images = frozenset({"directory", "host"})
    needs = (Tool("runsc", apt="runsc"),)

    def words(self, argv: tuple[str, ...], inside: Inside, variables: list[str]) -> Iterator[str]:
        """A bundle of the specification is written to the first of the mounts."""
        image = inside.image or ""
        start, middle = json.dumps(_specify(argv, inside)).split(_BUNDLE, 1)
        middle, rest = middle.split(f'"{_PARTS}", ', 1)
        place = inside.mounts[0] if inside.mounts else "/tmp"  # noqa: S108 - mktemp makes it
        yield from ("sh", "-c", _SCRIPT, "sh", place, start, middle, rest)
        yield from list_arguments(image, inside.mounts, *OWN)


def _specify(argv: tuple[str, ...], inside: Inside) -> dict[str, object]:
    """The container's config.json; two marks stand for what its host alone knows."""
    start = ("/bin/sh", "-c", '. "$0"; : > "$0"; exec "$@"', f"{_BUNDLE}/variables", *argv)
    binds = [
        {"destination": path, "type": "bind", "source": path, "options": ["rbind", "rw"]}
        for path in inside.mounts
    ]
    own = [
        {"destination": "/proc", "type": "proc", "source": "proc"},
        {"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": ["ro"]},
        {"destination": "/dev", "type": "tmpfs", "source": "tmpfs"},
        {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["mode=1777"]},  # noqa: S108
    ]
    may = dict.fromkeys(("bounding", "effective", "permitted"), _ACCOUNTS)
    process = {"terminal": False, "user": {"uid": 0, "gid": 0}, "capabilities": may, "args": start, "env": []}
    return {
        "ociVersion": "1.0.2",
        "process": {**process, "cwd": inside.at},
        "root": {"path": "root", "readonly": True},
        "mounts": [_PARTS, *own, *binds],
        "linux": {"namespaces": [{"type": kind} for kind in ("pid", "mount", "ipc", "uts")]},
    }
