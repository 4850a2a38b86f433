"""The file about a lease of pods: which cluster, which label, and whose run; see `lease_files`.

::

    ~/.local/state/steelyard/leases/<run>.<id>.kubernetes
        {"schema": 2, "id": …, "run": …, "kubeconfig": …, "context": …, "namespace": …, …}

It names the files that hold credentials, and holds none.
"""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.provision.lease_files import LeaseFile


@dataclass(frozen=True, slots=True)
class PodRental:
    """What one controller asked a cluster for: all that bears the label of `id` in the namespace.

    `token` is its controller's, `folder` its run's. `kubeconfig` are its files, as
    KUBECONFIG lists them; without them it is kubectl's own choice.
    `cordons` says that its run may cordon nodes.
    """

    id: str
    run: str
    token: str
    folder: str
    kubeconfig: str | None
    context: str
    namespace: str
    cordons: bool = False


class PodRentalFile(LeaseFile[PodRental]):
    """A rental with its file, locked by us."""

    Lease = PodRental
    schema, suffix = 2, ".kubernetes"
    subject, without = "what is asked for", "no pod is started"
    unreadable = "its pods end by themselves after their lease; then remove the file"
