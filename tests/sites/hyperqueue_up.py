"""A real HyperQueue server with one worker, in the namespaces of this process, until its standard input ends.

Its argument is the server's directory. The server takes jobs from whoever reaches it: hence the namespaces.
"""

from __future__ import annotations

import subprocess
import sys

from hyperqueue.cluster import LocalCluster, WorkerConfig

subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
subprocess.run(["hostname", "localhost"], check=True)
cluster = LocalCluster(sys.argv[1], WorkerConfig(cores=2))
print("ready", flush=True)
sys.stdin.read()
cluster.stop()
