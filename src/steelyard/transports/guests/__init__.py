"""Virtual machines on this machine as hosts."""
