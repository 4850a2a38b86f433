"""Where snapshots of services lie: a directory that hosts share, or a bucket of an object store."""
