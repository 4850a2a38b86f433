"""Which file systems guests of QEMU are given."""

from __future__ import annotations

from steelyard.transports.guests.files import list_shares

MOUNTS = """\
25 1 254:0 / / rw,relatime - ext4 /dev/vda rw
26 25 0:5 / /dev rw - devtmpfs devtmpfs rw
27 26 0:22 / /dev/shm rw - tmpfs tmpfs rw
28 25 0:23 / /proc rw - proc proc rw
29 25 0:24 / /run rw - tmpfs tmpfs rw
30 25 8:1 / /home rw shared:7 - xfs /dev/sda1 rw
31 25 8:1 /jane /srv/jane rw - xfs /dev/sda1 rw
32 25 8:17 / /scratch/with\\040blank rw - ext4 /dev/sdb1 rw
33 25 0:40 / /net rw - nfs4 server:/export rw
34 25 0:41 / /tmp rw - tmpfs tmpfs rw
35 25 254:0 /var/data /mnt rw - ext4 /dev/vda rw
36 25 0:24 / /other rw - tmpfs tmpfs rw
37 25 0:42 / /running rw - tmpfs tmpfs rw
"""


def test_whole_file_systems_with_handles_are_served_the_root_first() -> None:
    assert list_shares(MOUNTS) == ["/", "/home", "/other", "/running", "/tmp"]


def test_the_root_is_served_whatever_it_is() -> None:
    """Where it cannot be, the server says so."""
    line = "25 1 0:29 /image / rw,relatime - overlay overlay rw\n"
    assert list_shares(line) == ["/"]
