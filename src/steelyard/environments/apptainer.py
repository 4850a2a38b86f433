"""Apptainer."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.plugin.environment import Environment, Inside, Tool


class Apptainer(Environment):
    """Containers by Apptainer, as computing centres have it: a .sif file, a directory, or a registry's name.

    The program has a mount namespace of its own and an image that it cannot change; processes, network and
    home directory are its host's. Source: apptainer-exec(1) of Apptainer 1.4.
    """

    images = frozenset({"sif", "squashfs", "directory", "name"})
    needs = (Tool("apptainer"),)

    def words(self, argv: tuple[str, ...], inside: Inside, variables: list[str]) -> Iterator[str]:
        """Variables reach the program by themselves."""
        image = str(inside.image)
        by_name = inside.form == "name"
        yield from ("apptainer", "--quiet", "exec")
        for path in inside.mounts:
            yield from ("--bind", path)
        yield from ("--pwd", inside.at)
        yield f"docker://{image}" if by_name and "://" not in image else image
        yield from argv
