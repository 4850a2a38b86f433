"""`pytest --record` saves what the workload's examples print."""

pytest_plugins = ["steelyard.testing.pytest_plugin"]
