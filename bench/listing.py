"""How soon `list` and `show` answer in a store of 1,000 runs, beside a store of one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bench import records
from bench.process import in_turns, run
from bench.row import Row
from bench.setting import Setting, steelyard
from steelyard.store.layout import Store

RUNS = 1000
COMMANDS = {"list": ("list",), "list --all": ("list", "--all"), "show last": ("show", "last")}
MOST = {"list": 2.0, "list --all": 4.0, "show last": 1.5}


def rows(setting: Setting) -> Iterator[Row]:
    """The floor is the same command where there is one run: what more runs cost is left."""
    many, one = setting.folder("many"), setting.folder("one")
    records.many_runs(Store(many), RUNS)
    records.many_runs(Store(one), 1)
    for name, words in COMMANDS.items():
        sides = {"many": lambda words=words: _answer(words, many, setting)}
        sides["one"] = lambda words=words: _answer(words, one, setting)
        found = in_turns(setting.turns, sides)
        what = f"steelyard {name}, {RUNS:,} runs in the store"
        yield Row("listing", what, "s", found["many"], "one run in the store", found["one"], most=MOST[name])


def _answer(words: tuple[str, ...], store: Path, setting: Setting) -> float:
    argv = steelyard(*words, "--store", str(store))
    return run(argv, cwd=setting.place, env=setting.environment).seconds
