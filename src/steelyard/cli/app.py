"""The group of all commands. A command's module is imported when it is called; help needs none of them."""

from __future__ import annotations

import importlib
import io
import keyword
from collections.abc import Sequence

import click

from steelyard import __version__
from steelyard.cli.terminal import echo
from steelyard.errors import SteelyardError, suggest_name

COMMANDS = {
    "run": "Run an experiment file, or a bare command: run -- ./prog --n '{1,2,4}'",
    "plan": "Show what a file would run, and what this machine is missing",
    "init": "Write a commented experiment file for your command",
    "resume": "Resume an interrupted run",
    "extend": "Add levels or repetitions to a finished run",
    "watch": "Watch a run while it goes on",
    "serve": "Show runs in a browser, also while they go on",
    "status": "Show the progress of a run, and the state of its job",
    "cancel": "Cancel a run, or the batch job that runs it",
    "suspend": "Let no new trial of a run begin, or suspend its batch job",
    "continue": "Continue a suspended run or job",
    "cluster": "Run a database as a job: start, use, snapshot and recover it",
    "list": "List the runs in the store",
    "show": "Show the results of a run",
    "compare": "Compare two runs, cell by cell",
    "history": "Show how an experiment's results changed over its runs",
    "report": "Write a self-contained HTML (or Markdown) report",
    "export": "Export a run as CSV, Parquet, JSON, JUnit or for Seastar",
    "import": "Import the runs of another store",
    "rm": "Remove runs from the store",
    "trust": "Trust a directory that other accounts may write to",
    "clean": "Clean up what dead runs left behind",
    "catalog": "List workloads, services, events and the requirements they cover",
    "published": "List published results, and the experiments that regenerate them",
    "doctor": "Check this machine's fitness for benchmarking",
    "install": "Install the tools that workloads need",
    "trace": "Record what a program asks of its storage, and say what it is like",
    "image": "Bring the images that experiments describe to hosts, list and remove them",
    "schema": "Print the JSON Schema of experiment files",
    "completion": "Print the tab completion script for your shell",
}


class LazyGroup(click.Group):
    """Finds a command in `steelyard.cli.<name>`, as the object `command` there."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of a user's day."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command; None when there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        name = f"{cmd_name}_" if keyword.iskeyword(cmd_name) else cmd_name
        module = importlib.import_module(f"steelyard.cli.{name}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with "did you mean"."""
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in COMMANDS:
            hint = suggest_name(name, COMMANDS) or "; `steelyard --help` lists all commands"
            if name.endswith((".yaml", ".yml")):
                hint = f"; did you mean `steelyard run {name}`?"
            raise click.UsageError(f"no such command '{name}'{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table of commands, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="steelyard %(version)s")
def group() -> None:
    """Reproducible experiments on HPC and cloud data infrastructure.

    \b
    steelyard run -- sleep '{0.1,0.2}'      measure a command, no file needed
    steelyard init > mine.yaml              a first experiment file
    steelyard run mine.yaml                 run it
    steelyard report last                   read the result

    Exit codes: 0 success, 1 a requirement was not met, 2 an error in the file or the command line,
    3 the run could not be carried out or none of its trials counts, 130 interrupted.
    """


def run(words: Sequence[str] | None = None) -> int:
    """Run the command line, or the given words; the exit code."""
    try:
        outcome = group.main(words, prog_name="steelyard", standalone_mode=False)
    except click.exceptions.Abort:
        return 130
    except click.ClickException as error:
        told = io.StringIO()
        error.show(told)
        echo(told.getvalue(), err=True, nl=False)
        return 2
    except SteelyardError as error:
        echo(str(error), err=True)
        return error.exit_code
    return outcome if isinstance(outcome, int) else 0
