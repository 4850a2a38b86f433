"""How hosts are reached: over SSH, through a program such as srun, as pods, as namespaces of this machine."""
