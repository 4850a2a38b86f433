"""`steelyard run`"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from steelyard.cli.options import json_option, site_option, store_option
from steelyard.errors import UsageError

PASS_OR_FAIL = click.Choice(["pass", "fail"])


class AfterDashes(click.Command):
    """Keeps what follows `--` apart, because it is another program's command line."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Split at the first `--`."""
        if "--" in args:
            at = args.index("--")
            args, ctx.meta["words"] = args[:at], tuple(args[at + 1 :])
        return super().parse_args(ctx, args)


@click.command(cls=AfterDashes)
@click.argument("file", required=False, type=click.Path(dir_okay=False))
@site_option("Where to run, as local:4 or ssh:hosts.yaml; wins over the file's `site`")
@click.option("--scratch", metavar="DIR", type=click.Path(file_okay=False), help="Where test data go")
@click.option("--repeat", type=click.IntRange(1), metavar="N", help="Repetitions of each cell, for this run")
@click.option("--seed", type=click.IntRange(0), metavar="N", help="Seed of the order, for this run")
@click.option("--beside", is_flag=True, help="Do not wait for another run on this machine; mark the trials")
@click.option("--disturbed", type=click.Choice(["exclude", "include"]), help="Whether disturbed trials count")
@click.option("--undecided", type=PASS_OR_FAIL, default="fail", help="How an undecided requirement counts")
@click.option("-q", "--quiet", is_flag=True, help="No progress")
@store_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    file: str | None,
    site: str | None,
    scratch: str | None,
    repeat: int | None,
    seed: int | None,
    beside: bool,
    disturbed: str | None,
    undecided: str,
    quiet: bool,
    store: str | None,
    as_json: bool,
) -> int:
    """Run an experiment FILE, or a bare command after `--`.

    \b
    steelyard run examples/hello.yaml
    steelyard run examples/lockstep.yaml --site local:4
    steelyard run ska1.yaml --scratch /mnt/nvme --repeat 10
    steelyard run -- sleep '{0.1,0.2}'
    steelyard run -- ./solver --threads '{1..4}' --mesh '{small,large}'

    Quote the braces: most shells replace them before Steelyard can see them. The last line printed is the
    path of the report. Ctrl-C stops in good order, and `steelyard resume last` goes on.
    """
    from steelyard.cli.finish import finish
    from steelyard.cli.progress import observer
    from steelyard.controller.sitting import Choices, start
    from steelyard.store.layout import Store

    words: tuple[str, ...] = ctx.meta.get("words", ())
    if words and not any("{" in word for word in words) and len(words) > 1:
        click.echo("one cell; to vary an argument, quote the braces: 'sleep' '{0.1,0.2}'", err=True)
    experiment, text, origin = _experiment(
        file, words, {"repeat": repeat, "seed": seed, "disturbed": disturbed}
    )
    where = Store.chosen(store)
    choices = Choices(site, Path(scratch) if scratch else None, beside)
    folder = start(
        experiment, text, where, choices=choices, observer=observer(quiet=quiet or as_json), origin=origin
    )
    return finish(folder, as_json=as_json, undecided=undecided)


def _experiment(
    file: str | None, words: tuple[str, ...], changes: dict[str, Any]
) -> tuple[Any, str, Path | None]:
    """The experiment, the text to keep of it, and the folder that it comes from."""
    from steelyard.cli.bare import experiment_of
    from steelyard.spec.change import changed, from_tree
    from steelyard.spec.load import load

    if file is None and not words:
        raise UsageError("what shall run?", hint="steelyard run FILE, or steelyard run -- COMMAND …")
    if file is not None and words:
        raise UsageError(f"either the file {file} or the command '{words[0]} …', not both")
    wanted = {key: value for key, value in changes.items() if value is not None}
    if file is None:
        return (*from_tree({**experiment_of(words), **wanted}), None)
    path = Path(file)
    experiment, text = load(path)
    if wanted:
        experiment, text = changed(text, str(path), wanted)
    return experiment, text, path.absolute().parent
