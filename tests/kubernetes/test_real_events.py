"""Events that a real cluster takes part in."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from patience import PATIENCE
from steelyard.errors import HostDown, HostError
from steelyard.hosts.base import Streams
from steelyard.hosts.token import Token
from steelyard.model.command import Command
from steelyard.provision.kubernetes.hosts import PodHost, lease_pods
from steelyard.provision.kubernetes.order import PodGroup, PodOrder, PodUse

pytestmark = [pytest.mark.full, pytest.mark.xdist_group("kubernetes")]


def tell(real: Any, folder: Path, story: Callable[[Sequence[PodHost]], Awaitable[None]], *needs: str) -> None:
    """Two pods, by the least Role and those that these capabilities need."""

    async def whole() -> None:
        use = PodUse(kubeconfig=str(real.kubeconfig), within=PATIENCE, needs=frozenset(needs))
        order = PodOrder((PodGroup("db", 2, "tools:1"),))
        async with lease_pods(order, use, Token.of("test-run"), folder / "log") as hosts:
            await story(hosts)

    with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as scope:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        for capability in needs:
            scope.enter_context(real.granted(capability))
        asyncio.run(whole())
    assert not real.labelled()


def test_a_pod_that_is_killed_is_another_with_an_empty_volume(real: Any, tmp_path: Path) -> None:
    """Three times, so that a back-off of the Job, ten seconds and twice as many each time, would show."""
    streams = Streams(tmp_path / "out", tmp_path / "err")

    async def story(hosts: Sequence[PodHost]) -> None:
        host, other = hosts
        place = host.scratch_base()
        assert place is not None
        scratch = place / "steelyard-0123456789abcdef"
        await host.make_scratch(scratch)
        await other.capture(("touch", f"{place}/theirs"))
        for _ in range(3):
            await host.capture(("touch", f"{scratch}/data"))
            former, address = host.facts["pod"], host.address
            process = await host.start(Command(("sleep", "300")), streams, cwd=scratch)
            await host.kill_host()
            with pytest.raises(HostDown):
                await process.wait()
            await host.revive()
            assert host.facts["pod"] != former
            assert host.address != address
            assert await host.capture(("ls", str(scratch))) == ""
            await host.renew()
        (job,) = real.ask("GET", "/apis/batch/v1/namespaces/bench/jobs")["items"]
        assert not job["status"].get("failed")
        assert await other.capture(("ls", f"{place}/theirs")) == f"{place}/theirs\n"

    tell(real, tmp_path, story, "kill-hosts")


def test_who_may_not_delete_pods_is_told_before_there_are_any(real: Any, tmp_path: Path) -> None:
    use = PodUse(kubeconfig=str(real.kubeconfig), needs=frozenset({"kill-hosts"}))

    async def whole() -> None:
        async with lease_pods(
            PodOrder((PodGroup("db", 1, "tools:1"),)), use, Token.of("r"), tmp_path / "log"
        ):
            raise AssertionError

    with pytest.raises(HostError, match="delete pods or patch pods in namespace bench"):
        asyncio.run(whole())
