"""Runs the DIRAC benchmark and prints one line of JSON. Fed to the interpreter that has the package db12.

It runs on hosts that have nothing of Steelyard. The package's own program needs pkg_resources, which current
virtual environments lack; its function is all that is wanted.
"""

from __future__ import annotations

import importlib
import json
import random
import sys
from importlib import metadata


def main() -> None:
    """Do what the first argument, JSON, asks for."""
    asked = json.loads(sys.argv[1])
    random.seed(asked["seed"])
    try:
        library = importlib.import_module("db12")
    except ImportError as error:
        sys.exit(
            f"{error}; install it with `steelyard install db12` on this host, or with pip for its python3"
        )
    result = library.single_dirac_benchmark(
        iterations_num=asked["iterations"], correction=asked["correction"]
    )
    if not result:
        sys.exit("DB12 measured no CPU time")
    told = {"score": result["NORM"], "cpu": result["CPU"], "wall": result["WALL"]}
    versions = {"db12": metadata.version("db12"), "python": sys.version.split()[0]}
    print("\n" + json.dumps({**told, **asked, **versions}), flush=True)


if __name__ == "__main__":
    main()
