"""Reads hostile files, each in a process of its own with 200 MB, and prints what it took as JSON.

Run by test_hostile.py; on its own, `python tests/spec/hostile_files.py --table` prints a table.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable

from steelyard.model.expression import Expression, ExpressionError, substitute
from steelyard.spec.yaml.source import MAX_BYTES, SourceError, read

MEMORY = 200 * 1000 * 1000
MOST = 120  # seconds of processor time: what grows with the square of a file takes longer

LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(97 + n)}: &{chr(97 + n)} [{','.join(['*' + chr(96 + n)] * 10)}]\n" for n in range(1, 12)
)


def full(piece: str, before: str = "", after: str = "") -> str:
    """A file of the largest size that is read."""
    return before + piece * ((MAX_BYTES - len(before) - len(after)) // len(piece)) + after


FILES: dict[str, tuple[str, str]] = {
    "billion laughs": (LAUGHS, "alias bomb"),
    "a long text repeated": (f"a: &a '{'x' * 32000}'\nb: [{','.join(['*a'] * 30000)}]", "alias bomb"),
    "5,000 brackets": ("[" * 5000 + "]" * 5000, "brackets nested"),
    "5,000 braces": ("{a: " * 5000 + "}" * 5000, "brackets nested"),
    "5,000 deep in one line": ("- " * 5000 + "x", "nested more than 50 deep"),
    "500 deep by indentation": ("".join(f"{' ' * n}a:\n" for n in range(500)), "nested more than 50 deep"),
    "5,000 deep by indentation": ("".join(f"{' ' * n}a:\n" for n in range(5000)), "larger than 128 KiB"),
    "100 KB of [": ("[" * 100_000, "brackets nested"),
    "100 KB of [ in lines": ("[\n" * 50_000, "brackets nested"),
    "100 KB of {": ("{" * 100_000, "brackets nested"),
    "100 KB of -": ("- " * 50_000, "nested more than 50 deep"),
    "100 KB of ?": ("? " * 50_000, "nested more than 50 deep"),
    "10,000 digits": (f"a: {'9' * 10_000}", "has 10,000 digits"),
    "10,000 decimals": (f"a: 0.{'9' * 10_000}", "has 10,001 digits"),
    "impossible dates": ("a: 2026-02-31\nb: 2026-13-01\n", "a date that does not exist"),
    "very many impossible dates": (full("- 2026-13-01\n"), "a date that does not exist"),
    "!!python": ("a: !!python/object/apply:os.system ['id']", "is not allowed"),
    "very many tags": (full("- !!python/x y\n"), "is not allowed"),
    "one long tag": (f"!{'a' * 130_000} b", "is not allowed"),
    "inside itself": ("&a [*a]", "is inside"),
    "giant plain scalar": (full("x", "a: "), "at most 32,768"),
    "giant quoted scalar": (full("x", "a: '", "'"), "at most 32,768"),
    "giant escaped scalar": (full("\\x41", 'a: "', '"'), ""),
    "giant folded scalar": (full("x\n ", "a: "), "at most 32,768"),
    "giant key": (full("x", "", ": 1"), "at most 32,768"),
    "many keys": ("".join(f"k{n}: {n}\n" for n in range(9000)), ""),
    "many equal keys": (full("a: 1\n"), "already given"),
    "many values": (full("1,", "[", "]"), "more than 20,000 values"),
    "many small lists": (full("[],", "[", "]"), "more than 20,000 values"),
    "many deep lists": (full("[[[[[[[[[1]]]]]]]]],", "[", "]"), "more than 20,000 values"),
    "long deep lists": (full("[" * 9 + "1," * 440 + "]" * 9 + ",", "[", "]"), "more than 20,000 values"),
    "long deep empty lists": (full("[" * 8 + "[]," * 300 + "]" * 8 + ",", "[", "]"), "more than 20,000"),
    "many unknown aliases": (full("- *x\n"), "has no anchor"),
    "many comments": (full("#\n"), "the file is empty"),
    "many directives": (full("%a\n"), "the file has no content"),
    "many documents": (full("---\n"), "a second document"),
    "many parameters in brackets": (full("{a: ${b}}, ", "[", "]"), "must be quoted"),
}
EXPRESSIONS: dict[str, tuple[str, str]] = {
    "9**9**9": ("9**9**9", "9 ** 387420489 is too large"),
    "a chain of powers": ("2**" * 40 + "2", "is too large"),
    "rounding far before the point": ("round(1, -10**20)", "up to 30"),
    "many brackets": ("(" * 500, "nested more than 50 deep"),
    "many signs": ("-" * 999 + "1", "nested more than 50 deep"),
    "many sums": ("1+" * 400 + "1", "more than 100 operators"),
    "very long": ("1" * 100_000, "at most 1,000"),
    "text times number": ("'x' * 10**12", "needs numbers"),
    "a call of anything": ("__import__('os').system('id')", "is not"),
}


TREES: dict[str, tuple[str, str]] = {
    "long templates by alias": (f"a: &a '{'${x}' * 8000}'\nb: [{','.join(['*a'] * 50)}]", "at most 32,768"),
    "very many templates": (full('"${x}z",', "[", "]"), "exceed 1,048,576 characters"),
    "very many expressions": ("".join(f"- '{'${1}' * 8000}{n}'\n" for n in range(4)), ""),
}


def filled(text: str) -> object:
    """A tree that would grow to gigabytes."""
    return substitute(read(text, "f").value, {"x": "y" * 30_000})


def cases() -> dict[str, tuple[Callable[[str], object], str, str]]:
    """What to do with which text, and what must be said."""
    found: dict[str, tuple[Callable[[str], object], str, str]] = {}
    found |= {name: (lambda text: read(text, "f"), *case) for name, case in FILES.items()}
    found |= {
        name: (lambda text: Expression.parse(text).value({}), *case) for name, case in EXPRESSIONS.items()
    }
    found |= {name: (filled, *case) for name, case in TREES.items()}
    return found


def measured(act: Callable[[str], object], text: str) -> dict[str, object]:
    """What a case says and what it took, in a child process."""
    reader, writer = os.pipe()
    began = time.perf_counter()
    child = os.fork()
    if child == 0:
        os.close(reader)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (MOST, MOST))
        os.write(writer, said(act, text).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        message = pipe.read().decode()
    _, status, usage = os.wait4(child, 0)
    return {
        "said": message,
        "status": status,
        "wall": time.perf_counter() - began,
        "cpu": usage.ru_utime + usage.ru_stime,
        "megabytes": usage.ru_maxrss * 1024 / 1e6,
    }


def said(act: Callable[[str], object], text: str) -> str:
    """The first line of the complaint; nothing where there is none."""
    try:
        act(text)
    except (SourceError, ExpressionError) as error:
        return str(error).splitlines()[0][:300]
    except BaseException as error:
        return f"{type(error).__name__} escaped"
    return ""


def main() -> None:
    """Measure all cases."""
    results = {
        name: {**measured(act, text), "expected": expected} for name, (act, text, expected) in cases().items()
    }
    if "--table" not in sys.argv:
        print(json.dumps(results))
        return
    for name, result in results.items():
        print("{:30} {wall:6.3f} s  {cpu:6.3f} s cpu  {megabytes:5.1f} MB  {said:.90}".format(name, **result))


if __name__ == "__main__":
    main()
