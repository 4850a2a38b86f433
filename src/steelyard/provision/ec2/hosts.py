"""Rented machines as hosts, for as long as a block lasts."""

from __future__ import annotations

import asyncio
import secrets
import sys
import time
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

import asyncssh

from steelyard.errors import HostError, HostLost
from steelyard.hosts.agent.agent import AgentTimeouts
from steelyard.hosts.connect import connect_all
from steelyard.hosts.shell import ShellHost
from steelyard.hosts.tasks import run_to_end
from steelyard.hosts.token import Token
from steelyard.model.keys.uses import Prices
from steelyard.provision.ec2.account import AwsAccount
from steelyard.provision.ec2.fleet import Fleet
from steelyard.provision.ec2.host_keys import (
    Learnt,
    accept_first_key,
    fingerprints,
    format_known_hosts,
    read_console_keys,
)
from steelyard.provision.ec2.order import Order
from steelyard.provision.ec2.prices import Price, find_configured, look_up_prices
from steelyard.provision.ec2.release import Patience, release
from steelyard.provision.ec2.rental import Rental, RentalFile
from steelyard.provision.ec2.startup import RentedMachine, explain_end
from steelyard.transports.ssh.errors import HostUnreachable
from steelyard.transports.ssh.login import Login
from steelyard.transports.ssh.transport import SshTransport

KEY_COMES_WITHIN = 60.0
"""Seconds after the first refusal in which cloud-init may still bring our key; sshd often starts first."""

AnyT = TypeVar("AnyT")


@dataclass(frozen=True, slots=True)
class Use:
    """How the machines are used: `login` with all but host and host keys, which `host_key_source` says whence
    to take.

    `answer_within` bounds, in seconds, their boot until SSH answers. `prices` win over those of AWS.
    """

    login: Login
    host_key_source: Learnt = "console"
    answer_within: float = 300.0
    scratch: PurePosixPath | None = None
    prices: Prices | None = None


class RentedTransport(SshTransport):
    """A way to a machine that is still booting, and whose host keys are still to be learnt."""

    def __init__(
        self, account: AwsAccount, machine: RentedMachine, login: Login, use: Use, poll: float
    ) -> None:
        super().__init__(machine.name, login, address=machine.private)
        self._account, self._machine, self._use, self._poll = account, machine, use, poll
        self._until = time.monotonic() + use.answer_within
        self._refused_until: float | None = None
        self.host_keys: dict[str, Any] = {}

    async def open(self) -> None:
        """Connect; the first time with all the patience that a boot needs. Raises HostLost."""
        if self._login.trusted is None:
            self._login = replace(self._login, trusted=await self._learn())
        while True:
            try:
                await super().open()
            except HostLost as error:
                if not self._is_transient(error.__cause__):
                    raise
                await asyncio.sleep(self._poll)
            else:
                self._until = 0.0  # from now on it has booted
                return

    async def find_end_reason(self) -> str | None:
        """Why the machine does not run any more; None where it does."""
        return await asyncio.to_thread(explain_end, self._account, self._machine.id)

    async def _learn(self) -> str:
        try:
            if self._use.host_key_source == "console":
                keys = await read_console_keys(self._account, self._machine.id, self._until, self._poll)
            else:
                keys = await accept_first_key(self._login, self._until, self._poll)
        except HostError as error:
            message = f"host {self.name} ({self._machine.id}): {error.message}"
            raise HostLost(message, hint=error.hint) from error
        self.host_keys = {"learnt": self._use.host_key_source, "fingerprints": fingerprints(keys)}
        return format_known_hosts(keys)

    def _is_transient(self, error: BaseException | None) -> bool:
        """Whether it is only because the machine boots."""
        now = time.monotonic()
        if now > self._until or not isinstance(error, HostUnreachable):
            return False
        if isinstance(error.__cause__, asyncssh.PermissionDenied):
            self._refused_until = self._refused_until or now + KEY_COMES_WITHIN
            return now < self._refused_until
        return error.transient


class RentedHost(ShellHost):
    """A rented machine. Its facts tell type, price, image, zone, and how its host keys came to be trusted."""

    def __init__(self, transport: RentedTransport, *words: Any, **options: Any) -> None:
        super().__init__(transport, *words, **options)
        self._way = transport

    async def connect(self) -> None:
        """Reach it; see `ShellHost`."""
        await super().connect()
        self.facts = {**self.facts, "host_keys": self._way.host_keys}

    async def check(self) -> None:
        """Make sure that it answers; see `Host`. One that AWS took back is told as such."""
        try:
            await super().check()
        except HostLost as error:
            why = await self._way.find_end_reason()
            if why is None:
                raise
            hint = "AWS takes spot machines back when it needs them; `steelyard resume` rents new ones"
            raise HostLost(f"host {self.name} is lost: {why}", hint=hint) from error


@asynccontextmanager
async def rent_hosts(
    account: AwsAccount, order: Order, use: Use, token: Token, log: Path, patience: Patience | None = None
) -> AsyncIterator[tuple[RentedHost, ...]]:
    """Machines, rented and reached; however the block ends, they are given back. Raises HostError."""
    waits = patience or Patience()
    async with _rent_machines(account, order, token, log, waits) as (machines, private):
        prices = await asyncio.to_thread(_find_prices, account, order, use, machines)
        login = replace(use.login, private=private or use.login.private)
        hosts = []
        for machine in machines:
            way = RentedTransport(account, machine, _login(login, machine, order), use, waits.poll)
            facts = _facts(machine, order, prices.get(machine.id))
            hosts.append(
                RentedHost(
                    way,
                    token,
                    log,
                    pace=AgentTimeouts.for_silence(login.lost_after),
                    scratch=use.scratch,
                    facts=facts,
                )
            )
        async with connect_all(hosts) as reached:
            yield reached


@asynccontextmanager
async def _rent_machines(
    account: AwsAccount, order: Order, token: Token, log: Path, patience: Patience
) -> AsyncIterator[tuple[list[RentedMachine], bytes | None]]:
    """Machines that run, with the private key made for them, which is nowhere but in our memory."""
    key = None if order.key_name else asyncssh.generate_private_key("ssh-ed25519")
    rental = Rental(
        secrets.token_hex(8),
        token.run,
        str(token),
        str(log.absolute().parent),
        await asyncio.to_thread(account.resolve_region),
        account.profile,
    )
    file = RentalFile.create(rental)
    fleet = Fleet(account, order, file, patience)
    public = key.export_public_key().decode() if key else None
    try:
        machines = await _await_launch(asyncio.to_thread(fleet.launch, public), fleet)
        yield machines, key.export_private_key() if key else None
    finally:
        failed = sys.exception()
        try:
            await run_to_end(asyncio.to_thread(release, account, file, patience))
        except HostError as left:
            raise _combine_errors(failed, left) from failed
        finally:
            file.close()
            account.close()


def _combine_errors(failed: BaseException | None, left: HostError) -> HostError:
    """What went wrong first, and what is left of it, which costs money."""
    before = f"{failed.message}\n" if isinstance(failed, HostError) else ""
    return HostError(before + left.message, hint=left.hint)


async def _await_launch(work: Coroutine[Any, Any, AnyT], fleet: Fleet) -> AnyT:
    """Launch. A request on its way cannot be called back: when cancelled, its answer is waited for."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        fleet.stop()
        await run_to_end(_wait_quietly(task))
        raise


async def _wait_quietly(task: asyncio.Future[Any]) -> None:
    await asyncio.wait([task])
    if not task.cancelled():
        task.exception()  # it is looked at, and asyncio need not complain


def _find_prices(
    account: AwsAccount, order: Order, use: Use, machines: list[RentedMachine]
) -> dict[str, Price]:
    told = {machine.id: price for machine in machines if (price := find_configured(use.prices, machine))}
    others = [machine for machine in machines if machine.id not in told]
    return told | look_up_prices(account, others, spot=order.spot)


def _login(login: Login, machine: RentedMachine, order: Order) -> Login:
    address = machine.public if order.public else machine.private
    if address is None:
        hint = "set a `subnet` that assigns public addresses, or set `reach: private`"
        raise HostError(f"{machine.id} has no public address", hint=hint)
    return replace(login, host=address)


def _facts(machine: RentedMachine, order: Order, price: Price | None) -> Mapping[str, Any]:
    facts: dict[str, Any] = {
        "type": machine.type,
        "instance": machine.id,
        "image": order.image_of(machine.type),
        "zone": machine.zone,
        "spot": order.spot,
    }
    return {**facts, "price": dict(price)} if price else facts
