"""`steelyard schema`"""

from __future__ import annotations

import click

from steelyard.cli.options import print_json


@click.command()
def command() -> int:
    """Print the JSON Schema of experiment files, for editors.

    \b
    steelyard schema > steelyard.schema.json
    # then, as the first line of a file, for editors with a YAML language server:
    # yaml-language-server: $schema=steelyard.schema.json
    """
    from steelyard.spec.schema import schema

    print_json(schema())
    return 0
