"""`steelyard published`"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import click

from steelyard.cli.options import DocumentName, SectionName, json_option, print_json, store_option
from steelyard.cli.terminal import echo

if TYPE_CHECKING:
    from steelyard.analysis.comparison.published_list import ListedResult


@click.command()
@click.option(
    "--document", metavar="NAME", type=DocumentName(), help="List only the results of this document"
)
@click.option(
    "--section",
    metavar="SECTION",
    type=SectionName(),
    help="List only the results of this section; 4 includes 4.9",
)
@click.option("--with-experiment", is_flag=True, help="List only results that an experiment regenerates")
@store_option
@json_option
def command(
    document: str | None, section: str | None, with_experiment: bool, store: str | None, as_json: bool
) -> int:
    """List published results, the experiments that regenerate them, and how your runs compare.

    \b
    steelyard published
    steelyard published --document xtreemos-2010 --section 4.9
    steelyard published --with-experiment --json

    If the store has a run of an experiment (its tag `published` names its results), the newest is compared
    by shape: each figure is inside, above or below the published range, or open.
    `steelyard compare RUN --with published:ID` shows the figures.
    """
    from steelyard.analysis.comparison.published_list import judge_run, list_results, newest_runs
    from steelyard.spec.stores import choose_store

    results = list_results(document, section, with_experiment=with_experiment)
    runs = newest_runs(choose_store(store).list_runs())
    results = [
        dataclasses.replace(one, run=runs[one.id].id, verdicts=judge_run(runs[one.id], one.id))
        if one.id in runs and one.has_shapes
        else one
        for one in results
    ]
    if as_json:
        print_json([dataclasses.asdict(one) for one in results])
    else:
        echo("\n".join(_format_results(results)))
    return 0


def _format_results(results: Sequence[ListedResult]) -> Iterator[str]:
    """Each document with its results; below a result, what regenerates it and how the newest run compares."""
    for source, group in groupby(results, key=lambda one: one.source):
        yield from (source, "")
        for one in group:
            section = f"  [{one.section}]" if one.section else ""
            yield f"  {one.id.partition('/')[2]:22} {one.shows}{section}"
            if one.experiment:
                yield f"  {'':22} steelyard run {one.experiment}"
            if one.run:
                yield f"  {'':22} run {one.run}: {one.verdicts}"
        yield ""
    count = sum(bool(one.experiment) for one in results)
    yield f"{len(results)} results; an experiment regenerates {count} of them"
