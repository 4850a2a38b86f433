"""The command `steelyard`. `--version` is answered before anything is imported."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and end with its exit code."""
    if sys.argv[1:] == ["--version"]:
        from steelyard import __version__

        print(f"steelyard {__version__}")
        return
    from steelyard.cli.app import run
    from steelyard.cli.terminal import outlive_readers

    outlive_readers()
    sys.exit(run())


if __name__ == "__main__":
    main()
