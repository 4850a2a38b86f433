from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.stats.comparison import Better, Comparison, compare
from steelyard.stats.verdict import Verdict, judge_comparisons

OLD = [100.0, 101, 99, 102, 98, 100]
NEW = [90.0, 91, 89, 92, 88, 90]
MIXED = [97.0, 101, 99, 103, 98, 102]
samples = st.lists(st.integers(-50, 50).map(float), min_size=1, max_size=12)


def said(*comparisons: Comparison) -> list[Verdict]:
    return [judged.verdict for judged in judge_comparisons(comparisons)]


@pytest.mark.parametrize(
    ("better", "expected"),
    [("higher", Verdict.WORSE), ("lower", Verdict.BETTER), ("none", Verdict.DIFFERENT)],
)
def test_the_direction_decides_the_word(better: Better, expected: Verdict) -> None:
    assert said(compare(OLD, NEW, better=better)) == [expected]


def test_the_note_gives_the_size() -> None:
    [judged] = judge_comparisons([compare(OLD, NEW, better="higher")])
    assert judged.note == "the change is between -12 % and -8.1 % (95 % interval)"
    [judged] = judge_comparisons([compare([0.0] * 6, [2.0] * 6, better="lower")])
    assert (judged.verdict, judged.note) == (
        Verdict.WORSE,
        "the change is between +2 and +2 (95 % interval)",
    )


def test_no_difference_says_what_may_still_hide() -> None:
    [judged] = judge_comparisons([compare(OLD, MIXED, better="higher")])
    assert judged.verdict == "no detectable difference"
    assert judged.note.startswith("the change is between -")


@pytest.mark.parametrize(("n", "m"), [(5, 6), (6, 3), (1, 1)])
def test_below_six_is_too_few_however_clear(n: int, m: int) -> None:
    [judged] = judge_comparisons([compare(OLD[:n], NEW[:m], better="higher")])
    assert (judged.verdict, judged.adjusted_p) == (Verdict.TOO_FEW, None)
    assert f"n={n} against n={m}" in judged.note


def test_too_few_do_not_count_in_the_correction() -> None:
    clear, few = compare(OLD, NEW, better="higher"), compare(OLD[:2], NEW, better="higher")
    judged = judge_comparisons([few] * 100 + [clear])
    assert judged[-1].verdict == Verdict.WORSE
    assert judged[-1].adjusted_p == clear.p_value


def test_six_trials_carry_23_comparisons_and_not_24() -> None:
    clear, alike = compare(OLD, NEW, better="higher"), compare(OLD, OLD, better="higher")
    assert said(clear, *[alike] * 22) == [Verdict.WORSE] + [Verdict.NO_DIFFERENCE] * 22
    assert said(clear, *[alike] * 23) == [Verdict.TOO_FEW] * 24


def test_more_trials_help_where_six_do_not() -> None:
    alike = compare(OLD, OLD, better="higher")
    clear = compare(
        OLD + [value + 0.5 for value in OLD], NEW + [value + 0.5 for value in NEW], better="higher"
    )
    assert said(clear, *[alike] * 23) == [Verdict.WORSE] + [Verdict.NO_DIFFERENCE] * 23


def test_a_change_of_spread_is_no_change_of_level() -> None:
    """The ranks alone would call it (p=0.019), but one may still be the ratio: nothing is claimed."""
    calm = [98.0] + [99] * 4 + [100] * 5 + [101] * 4
    comparison = compare(calm, [95, 102, 103, 107, 110, 114], better="higher")
    assert comparison.p_value is not None
    assert comparison.p_value < 0.05
    assert comparison.ratio_interval is not None
    assert 1 in comparison.ratio_interval
    assert said(comparison) == [Verdict.NO_DIFFERENCE]


@given(samples, st.sampled_from(["higher", "lower", "none"]), st.integers(1, 5))
def test_a_sample_is_never_better_or_worse_than_itself(
    values: list[float], better: Better, times: int
) -> None:
    comparison = compare(values, values, better=better)
    assert set(said(*[comparison] * times)) <= {Verdict.NO_DIFFERENCE, Verdict.TOO_FEW}


@given(st.lists(st.tuples(samples, samples), max_size=4))
def test_exchanging_samples_exchanges_better_and_worse(pairs: list[tuple[list[float], list[float]]]) -> None:
    turned = {Verdict.BETTER: Verdict.WORSE, Verdict.WORSE: Verdict.BETTER}
    here = said(*(compare(a, b, better="higher") for a, b in pairs))
    back = said(*(compare(b, a, better="higher") for a, b in pairs))
    assert back == [turned.get(verdict, verdict) for verdict in here]


@given(st.lists(st.tuples(samples, samples), min_size=2, max_size=6), st.randoms())
def test_the_order_of_comparisons_does_not_matter(
    pairs: list[tuple[list[float], list[float]]], random: object
) -> None:
    comparisons = [compare(a, b, better="lower") for a, b in pairs]
    judged = judge_comparisons(comparisons)
    assert [one.comparison for one in judged] == comparisons
    assert judge_comparisons(comparisons[::-1])[::-1] == judged
