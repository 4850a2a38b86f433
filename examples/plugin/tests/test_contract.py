"""What Steelyard asks of every plug-in; `--record` saves what the client prints in data/contract."""

from steelyard.testing.contract import PackageContract


class TestContract(PackageContract, package="steelyard-kv", leases={"rack": {"hosts": ["alpha"]}}):
    """All plug-ins of this package."""
