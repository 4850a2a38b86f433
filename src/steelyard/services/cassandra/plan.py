"""What is settled of a ring of Cassandra before its nodes start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from steelyard.services.cassandra.config import CassandraPorts
from steelyard.services.cassandra.home import CassandraHome
from steelyard.services.cassandra.mirror import Mirror
from steelyard.services.cassandra.options import CassandraOptions
from steelyard.services.kit.data import DataDirectory
from steelyard.services.kit.ring_members import RingMembers


@dataclass(frozen=True)
class RingPlan:
    """A ring of the service `name`; `cluster` is what its nodes call it. `encrypted`: clients use TLS.

    `replication` is that of the data centre that clients use. By host: `homes` are where Cassandra lies,
    `data` where its node writes. Who is in the ring changes, and so what `members` and `data` hold.
    """

    name: str
    options: CassandraOptions
    cluster: str
    encrypted: bool
    replication: int
    ports: CassandraPorts
    homes: Mapping[str, CassandraHome]
    data: Mapping[str, DataDirectory]
    members: RingMembers
    mirror: Mirror | None

    @property
    def version(self) -> str:
        """Of Cassandra on its first node."""
        return self.homes[self.members.ring[0].name].version

    @property
    def mirror_copies(self) -> Mapping[str, int]:
        """Copies of each row in the mirror, by its data centre; empty where there is none."""
        return self.mirror.copies if self.mirror else {}
