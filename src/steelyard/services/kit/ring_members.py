"""Who is in a ring of nodes that speak CQL, and which tokens each has."""

from __future__ import annotations

from dataclasses import dataclass, field

from steelyard.hosts.base import Host
from steelyard.services.kit.cql_ring import Tokens, more_tokens, separate_tokens


@dataclass
class RingMembers:
    """Hosts that have a node: clients use those of `ring`, those `beside` are another data centre.

    `tokens` are a node's own, by its host's name.
    """

    ring: list[Host]
    beside: tuple[Host, ...] = ()
    tokens: dict[str, Tokens] = field(default_factory=dict)

    @property
    def hosts(self) -> tuple[Host, ...]:
        """All of them."""
        return (*self.ring, *self.beside)

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where their nodes listen."""
        return tuple(host.address for host in self.hosts)

    def choose_tokens(self, count: int) -> Tokens:
        """Of a node that joins the ring: none is in it twice."""
        owned = [self.tokens[host.name] for host in self.ring]
        taken = [token for host in self.beside for token in self.tokens[host.name]]
        return separate_tokens(more_tokens(owned, count), taken)

    def token_words(self, host: Host) -> tuple[str, ...]:
        """A node's own, for records."""
        return tuple(map(str, self.tokens[host.name]))
