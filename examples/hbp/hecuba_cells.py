"""Brain cells as objects: `python3 hecuba_cells.py ROWS` stores that many in a ring and counts them.

A cell is an entry of a dictionary whose entries are rows in Cassandra: its position x, y, and a value val.
"""

import collections
import collections.abc
import os
import sys
import time

for name in ("Iterable", "Mapping", "MutableMapping", "Sequence"):  # where Hecuba 1.2.4 looks for them
    setattr(collections, name, getattr(collections.abc, name))

from hecuba import StorageDict  # noqa: E402 - after what it needs

ROW = 100


class Cells(StorageDict):
    """
    @TypeSpec dict<<x:int, y:int>, val:double>
    """


rows = int(sys.argv[1])
cells = Cells("brain.cells")
began = time.perf_counter()
for number in range(rows):
    cells[number // ROW, number % ROW] = number / rows
del cells  # returns when everything is written
written = time.perf_counter()
count = len(list(Cells("brain.cells").keys()))
print("write_rate:", rows / (written - began), "read_rate:", count / (time.perf_counter() - written))
print("lost:", rows - count, flush=True)
os._exit(0)  # threads of Hecuba's that outlive the interpreter abort it
