"""How hosts are reached: over SSH, through a program such as srun, or as namespaces of this machine."""
