"""What every site must declare; and, where its hosts can be had here, that nothing stays on them."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar, get_args

import pytest
from pydantic import ValidationError

from steelyard.errors import UsageError
from steelyard.hosts.base import Streams, finish
from steelyard.hosts.sweep import find_bearers
from steelyard.hosts.token import Token
from steelyard.model.command import Command
from steelyard.sites.base import Capability, Site
from steelyard.testing.contract.suite import Contract, Parameters, check_options
from steelyard.testing.patience import PATIENCE, comes


class SiteContract(Contract):
    """What every site must do. `leases` has the options with which a site gives hosts on this machine."""

    kind = "sites"
    base = Site
    leases: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    @classmethod
    def parameters(cls) -> Parameters:
        """A `name`, and one whose hosts can be `leased`."""
        return {"name": sorted(cls.names), "leased": sorted(cls.leases)}

    def test_it_says_where_its_hosts_come_from_and_describes_its_options(self, name: str) -> None:
        kind = self.find(name)
        assert len((kind.__doc__ or "").strip()) > 60, "the docstring becomes the catalogue"
        check_options(kind.Options)
        assert all(isinstance(program, str) for program in kind.needs)

    def test_its_shorthand_gives_options_or_says_what_to_write(self, name: str) -> None:
        kind = self.find(name)
        assert kind.count_option in kind.Options.model_fields or kind.parse_shorthand.__func__ is not (
            Site.parse_shorthand.__func__  # type: ignore[attr-defined]
        ), "`NAME:4` must set an option"
        for argument in ("", "2", "0", "\0", "a b", "é" * 100):
            with contextlib.suppress(UsageError):
                assert set(kind.parse_shorthand(argument)) <= set(kind.Options.model_fields)

    def test_it_says_how_many_hosts_there_are_and_what_they_can(self, leased: str) -> None:
        site = self.make_site(leased)
        assert site.size() is None or site.size() >= 1
        assert site.capabilities() <= set(get_args(Capability))

    def test_a_host_runs_programs_and_nothing_stays(self, leased: str, tmp_path: Path) -> None:
        token = Token.of(f"test-{secrets.token_hex(6)}")

        async def test() -> None:
            async with self.make_site(leased).lease(token, tmp_path / "log", 1) as (host,):
                scratch = PurePosixPath(tmp_path / "scratch")
                await host.make_scratch(scratch)
                streams = Streams(tmp_path / "stdout", tmp_path / "stderr")
                process = await host.start(Command(("echo", "here")), streams, cwd=scratch)
                ended, late = await finish(process, PATIENCE)
                assert (ended.code, late) == (0, False)
                assert streams.stdout.read_text() == "here\n"
                await host.start(Command(("sleep", "300")), streams, cwd=scratch)
            assert await comes(lambda: not find_bearers(lambda bearer: bearer.run == token.run))

        asyncio.run(test())

    @classmethod
    def make_site(cls, name: str) -> Any:
        """The site with the options of `leases`."""
        kind = cls.find(name)
        try:
            return kind(kind.Options.model_validate(cls.leases[name]))
        except ValidationError as error:
            pytest.fail(f"the options of {name} in `leases` do not fit: {error}")
