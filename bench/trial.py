"""What a trial of /bin/true costs, with a durable journal; and the same of peers.

The floor is what a trial cannot do without, bare: the program, its files and folders, two synced lines.
Beside the peers, which keep no such record, stands what a trial costs beyond the program.

Nothing is deleted between the turns. ext4 without a journal shuns the inodes that were freed in the last
minutes, one by one (`recently_deleted` in the kernel's fs/ext4/ialloc.c): deleting the record of one turn was
seen to make every folder of the next one three times as dear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bench import floor, peers, syncs
from bench.foreign import Foreign
from bench.process import NotMeasured, in_turns, run
from bench.row import Row, minus
from bench.setting import Setting, steelyard
from steelyard.store.journal import read_journal
from steelyard.units import show

WHAT = "a trial of /bin/true, beyond the program"
MOST = 5.0
MOST_SYNCS = 3


def rows(setting: Setting) -> Iterator[Row]:
    """Ours beside the floors and beside each peer that is here, all in turns; then the syncs."""
    shares: list[float] = []
    sides: dict[str, Callable[[], float]] = {
        "ours": lambda: _beside_others(setting, shares),
        "bare": lambda: floor.spawned(setting.trials),
        "floor": lambda: floor.spawned_durably(setting.trials, setting.fresh("floor")),
        "record": lambda: floor.spawned_with_record(setting.trials, setting.fresh("record")),
    }
    found = in_turns(setting.turns, sides | peers.sides(setting))
    bare = found["bare"]
    floor_of_all = "floor: its spawn, files and syncs, bare"
    yield Row("trial", "a trial of /bin/true", "s", found["ours"], floor_of_all, found["record"], most=MOST)
    ours = minus(found["ours"], bare)
    yield Row("trial", WHAT, "s", ours, "floor: three fdatasync", minus(found["floor"], bare))
    for name in peers.NAMES:
        note = "" if name in found else f"{name} is not installed, so it is left out"
        yield Row("trial", WHAT, "s", ours, name, found.get(name, ()), note=note)
    turns = f"a trial beyond it, turn by turn: {turn_by_turn(ours, shares)}"
    yield Row("trial", "/bin/true itself: start and wait", "s", bare, note=turns)
    yield _syncs(setting)


def turn_by_turn(figures: Sequence[float], shares: Sequence[float]) -> str:
    """Each turn with what others took of the cores meanwhile; only the quiet ones tell of us."""
    pairs = zip(figures, shares, strict=True)
    return ", ".join(f"{show(figure, 's')} (others {show(share, '%', digits=2)})" for figure, share in pairs)


def _beside_others(setting: Setting, shares: list[float]) -> float:
    foreign = Foreign()
    seconds = run_of_trials(setting)
    shares.append(foreign.share())
    return seconds


def run_of_trials(setting: Setting) -> float:
    """Seconds from the first trial's start to the last one's end, by the journal's clock, for each trial."""
    store = setting.fresh("trials")
    counted = ("--repeat", str(setting.trials), "--disturbed", "include")
    arguments = ("run", "-q", "--store", str(store), *counted, "--", floor.TRUE)
    run(steelyard(*arguments), cwd=setting.place, env=setting.environment)
    (journal,) = store.glob("runs/*/journal.ndjson")
    return seconds_per_trial(journal)


def seconds_per_trial(journal: Path) -> float:
    """The same of any journal. Raises NotMeasured when a trial in it failed, or when it has none."""
    every = [line for line in read_journal(journal) if line["kind"] in ("trial-started", "trial-ended")]
    ended = [line for line in every if line["kind"] == "trial-ended"]
    if not ended or any(line["status"] != "ok" for line in ended):
        raise NotMeasured(f"{len(ended)} trials ended, and not all of them well")
    return float(ended[-1]["mono"] - every[0]["mono"]) / len(ended)


def _syncs(setting: Setting) -> Row:
    counted, how = syncs.of_a_trial(setting)
    note = f"counted {how}"
    return Row("trial", "syncs to the disk in a trial", "1", (counted,), limit=MOST_SYNCS, note=note)
