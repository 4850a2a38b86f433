"""Where the program begins when Python is given the path of this folder."""

from __future__ import annotations

import os
import sys

# Python put this folder first on the path. Its parent, put last, makes it the package `program` with its
# relative imports, and can hide neither a module of the standard library nor HyperQueue's package.
sys.path.append(os.path.dirname(sys.path.pop(0)))  # noqa: PTH120 - importing pathlib takes 4 ms

__import__("program.words", fromlist=["main"]).main()
