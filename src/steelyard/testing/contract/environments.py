"""What every environment must do: run a program in the image, and leave nothing behind.

The image is made of a few programs of this machine, so that nothing is fetched for it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path, PurePosixPath

import pytest

from steelyard.environments.base import Environment
from steelyard.hosts.base import Host, Process, Streams, finish
from steelyard.hosts.minder.processes import list_pids, read_proc
from steelyard.hosts.unused.accounts import write_prefix
from steelyard.hosts.wrapping import runs_nothing
from steelyard.model.command import Command, Exit
from steelyard.model.environment import Inside
from steelyard.testing.contract.bench import Bench, with_bench
from steelyard.testing.contract.suite import Contract, check_declaration, skip_without
from steelyard.testing.patience import PATIENCE, comes

_PROGRAMS = ("sh", "true", "cat", "readlink", "sleep", "setpriv")
_SECRET = 'tr\'ue "secret" $HOME'  # noqa: S105 - it must not be in a word
_LOOK = """\
cat /mark; pwd; cat; echo "$PASSWORD"; readlink /proc/self/ns/mnt /proc/self/ns/pid
cat /proc/sys/kernel/random/boot_id
echo written > here; { echo spoilt > /mark; } 2>/dev/null; exit 7
"""


_ACCOUNT = "2001004711"  # nobody's
_GIVEN_UP = """\
while read -r name value _; do [ "$name" != Uid: ] || echo "$value"; done < /proc/self/status
echo written > mine/note; { echo spoilt > note; } 2>/dev/null || echo refused
"""


def make_image(place: Path) -> Path:
    """An image in a new directory: a shell, a few programs of this machine, and a file `/mark`.

    Its programs and libraries are below /usr, as distributions have them.
    """
    for name in ("proc", "sys", "dev", "tmp", "etc", "home", "mnt", "var/tmp"):
        (place / name).mkdir(parents=True)
    for name in ("bin", "lib", "lib64"):
        (place / "usr" / name).mkdir(parents=True)
        (place / name).symlink_to(f"usr/{name}")
    for program in _PROGRAMS:
        file = Path(shutil.which(program) or "/bin/sh").resolve()
        shutil.copy(file, place / "bin" / program)
        said = subprocess.run(["ldd", file], capture_output=True, text=True, check=False).stdout
        for library in map(Path, re.findall(r"(/\S+) \(0x", said)):
            target = place / library.relative_to("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, target)
    (place / "etc/passwd").write_text("root:x:0:0::/:/bin/sh\n")
    (place / "etc/group").write_text("root:x:0:\n")
    (place / "mark").write_text("in the image\n")
    return place


class EnvironmentContract(Contract):
    """What every environment must do."""

    kind = "environments"
    base = Environment

    @classmethod
    def make(cls, name: str) -> Environment:
        """The environment of a name."""
        made: Environment = cls.find(name)(name)
        return made

    def test_it_says_what_it_isolates_and_where_that_comes_from(self, name: str) -> None:
        kind = self.find(name)
        check_declaration(kind, 80)
        assert "Source:" in kind.__doc__
        assert kind.images
        assert kind.needs

    def test_entering_is_pure_and_puts_no_secret_into_a_word(self, name: str) -> None:
        environment = self.make(name)
        command = Command(("prog", "a b", "$x"), {"A": "1"}, secrets={"PASSWORD": _SECRET})
        inside = Inside("/images/it", ("/scratch", "/raw data"), "/scratch")
        entered = environment.enter(command, inside)
        assert entered == environment.enter(command, inside)
        assert (entered.env, entered.secrets) == (command.env, command.secrets)
        words = "\n".join(entered.argv)
        assert "/images/it" in words
        assert "/raw data" in words
        assert json.dumps(_SECRET) not in words
        assert _SECRET not in words

    def test_a_program_sees_the_image_and_not_the_host(self, name: str, tmp_path: Path) -> None:
        image = make_image(tmp_path / "image")
        ended, said = self._run(name, image, ("sh", "-c", _LOOK), stdin="told\n")
        assert ended.code == 7, said
        mark, place, told, password, *spaces = said.splitlines()[:7]
        assert (mark, told, password) == ("in the image", "told", _SECRET)
        assert place.endswith("/local")
        ours = {str(Path(f"/proc/self/ns/{kind}").readlink()) for kind in ("mnt", "pid")}
        ours.add(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        assert set(spaces) - ours, "it has a namespace of its own, or a kernel"
        assert (image / "mark").read_text() == "in the image\n"
        assert {path.name for path in image.iterdir()} >= {"home", "tmp", "mark"}

    def test_what_is_mounted_needs_no_place_in_the_image(self, name: str, tmp_path: Path) -> None:
        image = make_image(tmp_path / "image")

        async def act(made: Bench) -> None:
            await self._skip_unless_it_runs(name, made.hosts[0], image)
            with tempfile.TemporaryDirectory(dir="/var/tmp") as mounted:
                note, places = Path(mounted, "note"), (str(tmp_path), mounted)
                note.write_text("outside\n")
                entered = self.make(name).enter(
                    Command(("cat", str(note), "/mark")), Inside(str(image), places)
                )
                assert (
                    await made.hosts[0].capture(entered.argv, seconds=PATIENCE) == "outside\nin the image\n"
                )
                assert note.read_text() == "outside\n"

        with_bench(act, hosts=1)
        assert not list((image / "var/tmp").iterdir())

    def test_nothing_is_left_of_one_that_is_killed(self, name: str, tmp_path: Path) -> None:
        image = make_image(tmp_path / "image")

        async def act(made: Bench) -> None:
            host = made.hosts[0]
            await self._skip_unless_it_runs(name, host, image)
            process = await self._start(name, made, image, ("sh", "-c", "echo > up; exec sleep 4711"), "")
            assert await comes((made.place / host.name / "up").is_file)
            await process.kill(grace=0.0)
            await process.wait()
            assert await made.is_empty()
            assert await comes(lambda: not _find_sleepers()), _find_sleepers()
            assert await self._remove_left(name, host, made.run) == ""

        with_bench(act, hosts=1)
        mounted = [line for line in Path("/proc/mounts").read_text().splitlines() if str(tmp_path) in line]
        assert not mounted

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root has itself to give up")
    def test_root_gives_itself_up_inside_or_is_told_that_it_cannot(self, name: str, tmp_path: Path) -> None:
        image = make_image(tmp_path / "image")

        async def act(made: Bench) -> None:
            await self._skip_unless_it_runs(name, made.hosts[0], image)
            with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
                Path(place).chmod(0o711)
                mine = Path(place, "mine")
                mine.mkdir(mode=0o700)
                os.chown(mine, int(_ACCOUNT), int(_ACCOUNT))
                server = Command((*write_prefix(_ACCOUNT), "sh", "-c", _GIVEN_UP))
                entered = self.make(name).enter(server, Inside(str(image), (place,), place))
                said = await made.hosts[0].capture(entered.argv, seconds=PATIENCE)
                if self.make(name).has_accounts:
                    assert said == f"{_ACCOUNT}\nrefused\n"
                    assert (mine / "note").read_text() == "written\n"
                else:
                    assert said is None

        with_bench(act, hosts=1)

    def _run(self, name: str, image: Path, argv: tuple[str, ...], stdin: str) -> tuple[Exit, str]:
        ends: list[tuple[Exit, str]] = []

        async def act(made: Bench) -> None:
            await self._skip_unless_it_runs(name, made.hosts[0], image)
            process = await self._start(name, made, image, argv, stdin)
            ended, _ = await finish(process, PATIENCE)
            folder = made.place
            assert (folder / "local" / "here").read_text() == "written\n", (folder / "err").read_text()
            ends.append((ended, (folder / "out").read_text() + (folder / "err").read_text()))

        with_bench(act, hosts=1)
        return ends[0]

    async def _start(self, name: str, made: Bench, image: Path, argv: tuple[str, ...], stdin: str) -> Process:
        host, scratch = made.hosts[0], str(made.place / made.hosts[0].name)
        command = Command(argv, secrets={"PASSWORD": _SECRET})
        entered = self.make(name).enter(command, Inside(str(image), (scratch,), scratch))
        (made.place / "in").write_text(stdin)
        streams = Streams(made.place / "out", made.place / "err", made.place / "in")
        return await host.start(entered, streams, cwd=PurePosixPath(scratch))

    async def _remove_left(self, name: str, host: Host, run: str) -> str:
        """Remove what is left of a run, as a session does when it ends; what is left then."""
        environment = self.make(name)
        listing = environment.list_left()
        if listing is None:
            return ""
        tokens = (await host.capture(listing.argv) or "").split()
        for token in (one for one in tokens if one.startswith(f"{run}:")):
            removing = environment.remove_left(token)
            assert removing
            await host.capture(removing.argv, seconds=PATIENCE)
        left = (await host.capture(listing.argv) or "").split()
        return " ".join(one for one in left if one.startswith(f"{run}:"))

    async def _skip_unless_it_runs(self, name: str, host: Host, image: Path) -> None:
        environment = self.make(name)
        skip_without(environment.needs)
        scratch = str(image.parent)
        if not await runs_nothing(host, environment, Inside(str(image), (scratch,), scratch)):
            pytest.skip(f"{name} runs nothing on this machine, as `steelyard doctor` says")


def _find_sleepers() -> list[int]:
    """Processes that the test started, whatever environment they are in."""
    return [pid for pid in list_pids() if read_proc(f"/proc/{pid}/cmdline") == b"sleep\0004711\0"]
