"""Options and arguments that several commands share."""

from __future__ import annotations

import json
import tempfile
from abc import abstractmethod
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from steelyard.cli.terminal import echo
from steelyard.errors import SteelyardError, UsageError
from steelyard.printable import make_one_line
from steelyard.spec.stores import choose_store
from steelyard.store.layout import RunFolder

Function = TypeVar("Function", bound=Callable[..., Any])


class AfterDashes(click.Command):
    """Keeps what follows `--` apart, because it is another program's command line."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Split at the first `--`."""
        if "--" in args:
            at = args.index("--")
            args, ctx.meta["words"] = args[:at], tuple(args[at + 1 :])
        return super().parse_args(ctx, args)


def complete_name(incomplete: str, names: Iterable[str]) -> list[CompletionItem]:
    """The names that begin so. One that no shell may print is left out: shown otherwise, it is no name."""
    return [
        CompletionItem(name) for name in names if name.startswith(incomplete) and make_one_line(name) == name
    ]


class KnownName(click.ParamType[str]):
    """A name of something that is there, which the shell completes."""

    @abstractmethod
    def list_names(self, ctx: click.Context) -> Iterable[str]:
        """What there is. Raises SteelyardError where that cannot be read: then nothing is completed."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The names that begin so."""
        try:
            return complete_name(incomplete, self.list_names(ctx))
        except SteelyardError:
            return []  # there is nobody to tell it to


class RunName(KnownName):
    """A run: its id or a part of it, a path, or `last`. Completes from the store."""

    name = "run"

    def list_names(self, ctx: click.Context) -> Iterable[str]:
        """`last`, and the ids, newest first."""
        ids: list[str] = []
        with suppress(SteelyardError):  # there is nobody to tell it to
            ids = [run.id for run in reversed(choose_store(ctx.params.get("store")).list_runs())]
        return ("last", *ids)


class ExperimentName(KnownName):
    """An experiment that has runs, or its file. Completes the former from the store."""

    name = "experiment"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The names that begin so; without any, files."""
        return super().shell_complete(ctx, param, incomplete) or [CompletionItem(incomplete, type="file")]

    def list_names(self, ctx: click.Context) -> Iterable[str]:
        """As ids of runs hold them."""
        from steelyard.analysis.history.load import list_experiments

        return list_experiments(choose_store(ctx.params.get("store")))


class MetricName(KnownName):
    """A metric, or a pattern. Completes from the run that is named before it."""

    name = "metric"

    def list_names(self, ctx: click.Context) -> Iterable[str]:
        """In the order of the run."""
        from steelyard.store.reader import RunRecord

        run = ctx.params.get("run") or ctx.params.get("after") or ctx.params.get("before") or "last"
        metrics = RunRecord(choose_store(ctx.params.get("store")).find(run)).metrics
        return [name for name, metric in metrics.items() if metric.kind == "scalar"]


class EntryName(KnownName):
    """An entry of the catalogue. Completes from there."""

    name = "name"

    def list_names(self, ctx: click.Context) -> Iterable[str]:
        """Of all kinds."""
        from steelyard.spec.kinds import entry_names

        return entry_names()


class RequirementId(KnownName):
    """A published requirement. Completes from all that are known."""

    name = "id"

    def list_names(self, ctx: click.Context) -> Iterable[str]:
        """Of all documents."""
        from steelyard.spec.requirements import published_needs

        return published_needs()


class DocumentName(KnownName):
    """A published document. Completes from those that are known."""

    name = "document"

    def list_names(self, ctx: click.Context) -> Iterable[str]:
        """Their short names."""
        from steelyard.analysis.comparison.published_list import document_titles

        return document_titles()


class SectionName(KnownName):
    """A section of a published document. Completes from those that have results."""

    name = "section"

    def list_names(self, ctx: click.Context) -> Iterable[str]:
        """Those of the document that is named before it, or of all."""
        from steelyard.analysis.comparison.published_list import list_results

        results = list_results(ctx.params.get("document"))
        return dict.fromkeys(one.section for one in results if one.section)


class SiteName(KnownName):
    """A site, as `local:4`. Completes from the plug-ins and from `sites.yaml`."""

    name = "site"

    def list_names(self, ctx: click.Context) -> Iterable[str]:
        """Plug-ins and the files' own."""
        from steelyard.spec.sites import site_names

        return site_names()


class ToolName(KnownName):
    """A tool, a workload, a service or a file. Completes the first three from the catalogue."""

    name = "name"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The names that begin so; without any, files."""
        return super().shell_complete(ctx, param, incomplete) or [CompletionItem(incomplete, type="file")]

    def list_names(self, ctx: click.Context) -> Iterable[str]:
        """Of everything that can be installed."""
        from steelyard.spec.tool_needs import installable_names

        return installable_names()


def site_option(text: str) -> Callable[[Function], Function]:
    """`--site NAME`."""
    return click.option("--site", metavar="NAME[:ARG]", type=SiteName(), help=text)


def metric_option(text: str) -> Callable[[Function], Function]:
    """`-m NAME`, `--metric NAME`, as often as wanted."""
    return click.option(
        "-m", "--metric", "metrics", multiple=True, metavar="NAME", type=MetricName(), help=text
    )


def outliers_option(function: Function) -> Function:
    """`--outliers POLICY`, for who looks at a run."""
    text = (
        "Overrides the file's policy; tukey and mad can make intervals too narrow "
        "(docs/explanation/statistics.md)"
    )
    policies = click.Choice(["none", "tukey", "mad", "extremes"])
    return click.option("--outliers", type=policies, help=text)(function)


def quiet_option(function: Function) -> Function:
    """`-q`, `--quiet`."""
    return click.option("-q", "--quiet", is_flag=True, help="Show no progress")(function)


def job_options(function: Function) -> Function:
    """`--detach`, `--chain`, `--split`: for sites whose hosts come with a job of a batch scheduler."""
    texts = {
        "--detach": "Submit the job and return; `steelyard status` shows its state",
        "--chain": "At its time limit, a job submits the next one, until the run is complete",
        "--split": "Use one job per number of hosts, one after the other, so that no host is idle",
    }
    for name, text in reversed(texts.items()):
        function = click.option(name, is_flag=True, help=f"Batch sites: {text[0].lower()}{text[1:]}")(
            function
        )
    return function


def level_option(text: str) -> Callable[[Function], Function]:
    """`-p NAME=A,B`, again and again; see `parse_levels`."""
    return click.option(
        "-p", "--level", "levels", multiple=True, metavar="NAME=A,B", help=f"{text}; may be repeated"
    )


def notify_option(function: Function) -> Function:
    """`--notify TARGET`, again and again; see `notices.targets`."""
    text = (
        "Tell a URL, ntfy:URL or command how the run ends and what its rules find; may be repeated"
        "  [default: $STEELYARD_NOTIFY]"
    )
    return click.option("--notify", "notify", multiple=True, metavar="TARGET", help=text)(function)


def tag_option(function: Function) -> Function:
    """`--tag NAME=VALUE`, again and again; see `parse_tags`."""
    text = "Give the run a tag, such as commit=3f2a91c; may be repeated"
    return click.option("--tag", "tags", multiple=True, metavar="NAME=VALUE", help=text)(function)


def parse_tags(texts: Iterable[str]) -> dict[str, str]:
    """Tags by their names. Raises UsageError for what is none."""
    pairs = [text.partition("=") for text in texts]
    if wrong := [
        name + sign + value for name, sign, value in pairs if not (name.strip() and sign and value.strip())
    ]:
        raise UsageError(
            f"--tag {wrong[0]}: it has no name and value", hint="for example --tag commit=3f2a91c"
        )
    return {name.strip(): value.strip() for name, _, value in pairs}


def disturbed_option(function: Function) -> Function:
    """`--disturbed include|exclude`, for who looks at a run."""
    text = "Count disturbed trials or leave them out, whatever the run did"
    return click.option("--disturbed", type=click.Choice(["include", "exclude"]), help=text)(function)


def store_option(function: Function) -> Function:
    """`--store DIR`."""
    text = "Directory of the run records  [default: $STEELYARD_STORE or ./steelyard-runs]"
    option = click.option("--store", metavar="DIR", type=click.Path(file_okay=False), help=text)
    return option(function)


def json_option(function: Function) -> Function:
    """`--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON")(function)


def run_argument(name: str = "run", **more: Any) -> Callable[[Function], Function]:
    """A run's name as an argument."""
    return click.argument(name, type=RunName(), **more)


def find_run(store: str | None, name: str) -> RunFolder:
    """The run of a name; `last` is printed resolved. A crate (`.zip`) is unpacked for as long as the command
    lasts. Raises UnknownName, StoreError.
    """
    if name.endswith(".zip"):
        return _unpack(Path(name))
    folder = choose_store(store).find(name)
    if name == "last":
        echo(f"last is {folder.id}", err=True)
    return folder


def _unpack(crate: Path) -> RunFolder:
    from steelyard.store.crates import unpack_crate

    place = tempfile.TemporaryDirectory(prefix="steelyard-crate-")
    click.get_current_context().call_on_close(place.cleanup)
    return unpack_crate(crate, Path(place.name))


def print_json(content: Any) -> None:
    """JSON for machines, one document; in ASCII, as nothing in it may act on a terminal or be rewritten."""
    echo(json.dumps(content, indent=1, default=str))
