"""What a service is made of: it deploys servers on the hosts that it is handed."""

from __future__ import annotations

from steelyard.model.keys.program import Program, find_mentions, to_word
from steelyard.model.keys.reference import FOLDER, SELF, credentials, join_host_port, variables
from steelyard.model.snapshot import REFUSED_HINT, Snapshot, SnapshotNode
from steelyard.services.base import Service, ServiceOptions
from steelyard.services.kit.access import Listener
from steelyard.services.kit.capabilities import (
    Checkpointable,
    Growable,
    HasMirror,
    HasNodes,
    Killable,
    Metered,
    NodeState,
    Pausable,
    Shrinkable,
    Snapshottable,
    Vaults,
)
from steelyard.services.kit.context import HostShare, ServiceContext
from steelyard.services.kit.disturbable import Disturbable
from steelyard.services.kit.ports import choose_ports
from steelyard.services.kit.server import Server
from steelyard.snapshots.store import Runner, SavedFiles
from steelyard.tools import maven
from steelyard.tools.find import find_missing, install_directory

__all__ = [
    "FOLDER",
    "REFUSED_HINT",
    "SELF",
    "Checkpointable",
    "Disturbable",
    "Growable",
    "HasMirror",
    "HasNodes",
    "HostShare",
    "Killable",
    "Listener",
    "Metered",
    "NodeState",
    "Pausable",
    "Program",
    "Runner",
    "SavedFiles",
    "Server",
    "Service",
    "ServiceContext",
    "ServiceOptions",
    "Shrinkable",
    "Snapshot",
    "SnapshotNode",
    "Snapshottable",
    "Vaults",
    "choose_ports",
    "credentials",
    "find_mentions",
    "find_missing",
    "install_directory",
    "join_host_port",
    "maven",
    "to_word",
    "variables",
]
