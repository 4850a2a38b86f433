"""`steelyard cluster`: a database as a job. An action's module is imported when it is called."""

from __future__ import annotations

import importlib

import click

ACTIONS = {
    "run": "Start a database as a job, with an application alongside",
    "recover": "Start a database from a snapshot, with an application alongside",
    "status": "Show what clusters are doing, and the state of each node",
    "stop": "Stop a cluster after its application, with its planned snapshot",
    "kill": "Stop a cluster immediately",
    "attach": "Run an application against a live cluster, from another job or host",
    "snapshot": "Take a snapshot now",
    "snapshots": "List or remove snapshots",
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
    """Run a database inside a job: launch it, use it, keep its data.

    \b
    steelyard cluster run -nT 4 --appl "python load.py" --snapshot --finish
    steelyard cluster run --site slurm -nC 2 -nA 2 --disjoint --appl ./solver
    steelyard cluster recover --latest -nC 3 --appl "python count.py"
    steelyard cluster status
    steelyard cluster stop

    The application finds the database through CONTACT_NAMES and NODE_PORT, STEELYARD_SERVICE_ADDRESS, _PORT,
    _USER and _PASSWORD, and a cqlshrc (`cqlsh --cqlshrc "$CQLSHRC"`). The command returns the application's
    exit code; 125 means that Steelyard failed, 127 that the program was not found.
    """
