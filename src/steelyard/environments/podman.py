"""Podman."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.plugin.environment import PERIOD, Command, Environment, Inside, Tool

# By itself it would raise both limits above those of its host, which not even root may do everywhere. Of
# processes, podman 4.3 leaves 32768 to itself and so to all below it.
_SCRIPT = """\
limit() { sed -n "s/^$1  *[a-z0-9]*  *\\([a-z0-9]*\\) .*/\\1/p" /proc/$$/limits; }
files=$(limit 'Max open files') processes=$(limit 'Max processes')
[ "$files" != unlimited ] || files=-1
[ "$processes" != unlimited ] && [ "$processes" -le 32768 ] || processes=32768
set -- --ulimit="nofile=$files:$files" --ulimit="nproc=$processes:$processes" "$@"
exec podman run --label="steelyard=$STEELYARD_TOKEN" "$@"
"""
_LIST = """\
place=${XDG_DATA_HOME:-$HOME/.local/share}/containers
[ "$(id -u)" != 0 ] || place=/var/lib/containers
[ ! -d "$place" ] || podman ps --all --filter=label=steelyard --format='{{index .Labels "steelyard"}}'
"""
# A container whose every process was killed is still there for podman, and so are its mounts and cgroups.
_REMOVE = """\
left=$(podman ps --all --quiet --no-trunc --filter="label=steelyard=$1") && [ -n "$left" ] || exit 0
podman rm --force --time=0 $left
for id in $left; do find /sys/fs/cgroup -depth -type d -name "libpod-$id" -exec rmdir {} + 2>/dev/null; done
"""


class Podman(Environment):
    """Containers by Podman: an image by its name, or an unpacked directory, whose changes are thrown away.

    The program has process, mount and IPC namespaces of its own, its host's network, and its host's limits of
    files and processes. An image by name must be there, or be pulled before: `podman pull debian:12`.
    Source: podman-run(1) of Podman 4.3.
    """

    images = frozenset({"name", "directory"})
    needs = (Tool("podman", apt="podman", dnf="podman"),)
    limits_itself = True

    def words(self, argv: tuple[str, ...], inside: Inside, variables: list[str]) -> Iterator[str]:
        """Without a shell or an entry point of the image's in between."""
        yield from ("sh", "-c", _SCRIPT, "sh", "--rm", "--interactive", "--network=host")
        yield from ("--security-opt=label=disable", "--entrypoint=")
        if inside.limits.quota:
            yield from ("--cpu-period", str(PERIOD), "--cpu-quota", str(inside.limits.quota))
        if inside.limits.memory:
            yield from ("--memory", str(int(inside.limits.memory)))
        for path in inside.mounts:
            yield from ("--volume", f"{path}:{path}")
        for name in variables:
            yield from ("--env", name)
        yield from ("--workdir", inside.at)
        image = str(inside.image)
        yield from ("--rootfs", f"{image}:O") if inside.form == "directory" else (image,)
        yield from argv

    def list_left(self) -> Command:
        """Of all containers of ours, whether they run or not; Podman is not asked where it never ran."""
        return Command(("sh", "-c", _LIST))

    def remove_left(self, token: str) -> Command:
        """By the label that each was given."""
        return Command(("sh", "-c", _REMOVE, "sh", token))
