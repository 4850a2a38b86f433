"""Program for a host: write rows of a brain-cell table as CSV. Standard library only, any Python from 3.6.

Usage: rows.py SEED FIRST COUNT FILE

Row n has a place (x, y) of its own, whatever the seed: x runs through all 31-bit numbers before one returns.
The other figures only look random. A row takes about 37 bytes, as the source's did: "basically big integers".
"""

import sys

X, Y, VALUE = 2**31, 2**31, 10**15
BLOCK = 10_000  # rows that are written at once


def row(seed: int, number: int) -> str:
    """A line of the file: x, y and val; the factors are odd, so that x repeats after 2^31 rows only."""
    drawn = (number + seed) * 2_654_435_761
    return f"{drawn % X},{(drawn * 40_503 >> 3) % Y},{drawn * 2_246_822_519 % VALUE}\n"


def main() -> None:
    """Write the rows from FIRST on."""
    seed, first, count = map(int, sys.argv[1:4])
    with open(sys.argv[4], "w", encoding="ascii") as file:  # noqa: PTH123 - as quick as it gets
        for start in range(first, first + count, BLOCK):
            stop = min(start + BLOCK, first + count)
            file.writelines(row(seed, number) for number in range(start, stop))


if __name__ == "__main__":
    main()
