"""`steelyard cluster`: a database as a job. An action's module is imported when it is called."""

from __future__ import annotations

import importlib

import click

ACTIONS = {
    "run": "Start a database as a job, and an application beside it",
    "recover": "The same, with the data of a snapshot",
    "status": "Say what clusters do, and how each node is",
    "stop": "End one after its application, with the snapshot that is planned",
    "kill": "End one now",
    "attach": "Run an application against one that lives, from another job or host",
    "snapshot": "Take a snapshot now",
    "snapshots": "List snapshots, remove some",
}


class Actions(click.Group):
    """Finds an action in `steelyard.cli.clusters.<name>`; RUN is run, as people are used to."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of a cluster's life."""
        return list(ACTIONS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return an action; None when there is none of that name."""
        name = cmd_name.lower()
        if name not in ACTIONS:
            return None
        action: click.Command = importlib.import_module(f"steelyard.cli.clusters.{name}").command
        return action

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table of actions, without importing any."""
        with formatter.section("Actions"):
            formatter.write_dl(list(ACTIONS.items()))


@click.group(cls=Actions)
def command() -> None:
    """A database that lives inside a job: launch it, use it, keep its data.

    \b
    steelyard cluster run -nT 4 --appl "python load.py" --snapshot --finish
    steelyard cluster run --site slurm -nC 2 -nA 2 --disjoint --appl ./solver
    steelyard cluster recover --latest -nC 3 --appl "python count.py"
    steelyard cluster status
    steelyard cluster stop

    The application finds the database by CONTACT_NAMES and NODE_PORT, by STEELYARD_SERVICE_ADDRESS, _PORT,
    _USER and _PASSWORD, and by a cqlshrc (`cqlsh --cqlshrc "$CQLSHRC"`). Its exit code is the command's; 125
    means that Steelyard failed, 127 that there is no such program.
    """
