"""`steelyard serve`"""

from __future__ import annotations

import getpass
import platform
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.options import store_option
from steelyard.cli.terminal import echo
from steelyard.errors import UsageError

if TYPE_CHECKING:
    from steelyard.web.access.tokens import Tokens
    from steelyard.web.listening import Listening

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.option("--listen", metavar="ADDRESS:PORT", default="", help="Listen on TCP [default: 127.0.0.1:8484]")
@click.option(
    "--socket", "path", type=_FILE, metavar="PATH", help="Listen on a Unix socket (default over ssh)"
)
@click.option("--read-only", is_flag=True, help="Show runs only: nothing can be started or ended")
@click.option("--host", "hosts", multiple=True, metavar="NAME", help="Also answer to this name; repeatable")
@click.option("--prefix", metavar="/PATH", default="", help="The path that a proxy serves the pages under")
@click.option("--behind-proxy", is_flag=True, help="A proxy does TLS, so an address others reach is allowed")
@click.option("--tls-certificate", type=_FILE, metavar="FILE", help="Serve HTTPS with this certificate (PEM)")
@click.option("--tls-key", type=_FILE, metavar="FILE", help="The certificate's key (PEM)")
@click.option("--new-tokens", is_flag=True, help="Make new tokens; links and browsers from before are out")
@click.option("--links", is_flag=True, help="Print the tokens of this store's servers, and serve nothing")
@store_option
def command(
    listen: str,
    path: Path | None,
    read_only: bool,
    hosts: tuple[str, ...],
    prefix: str,
    behind_proxy: bool,
    tls_certificate: Path | None,
    tls_key: Path | None,
    new_tokens: bool,
    links: bool,
    store: str | None,
) -> int:
    """Show the runs of the store in a browser, also while they go on.

    \b
    steelyard serve
    steelyard serve --read-only
    steelyard serve --listen 127.0.0.1:9000 --prefix /steelyard --host bench.example.org

    Open the link that is printed: it holds a token that lets a browser in. The second link may only read.
    Whoever has the first may do what you may, so nobody is let in without, and only this machine is listened
    to. Over ssh, the server listens on a socket that only you can reach, and prints the `ssh -L` line that
    brings it to your own machine. Ctrl-C ends the server; runs go on.
    """
    from steelyard.spec.stores import choose_store
    from steelyard.web.access.tokens import load_tokens

    if prefix and not re.fullmatch(r"(/[A-Za-z0-9._~-]+)+", prefix):
        raise UsageError(f"--prefix {prefix} is not a path", hint="for example --prefix /steelyard")
    if (tls_certificate is None) != (tls_key is None):
        raise UsageError("--tls-certificate and --tls-key belong together; give both")
    where = choose_store(store)
    tokens = load_tokens(where.root, renew=new_tokens)
    if links:
        for right, token in tokens._asdict().items():
            echo(f"{right:5} ?token={token}")
        return 0
    from steelyard.web.serve import ServeOptions, serve

    scheme = "https" if tls_certificate else "http"
    options = ServeOptions(
        listen, path, hosts, prefix, behind_proxy, tls_certificate, tls_key, read_only=read_only
    )
    serve(
        where,
        options,
        tokens,
        lambda place: _announce(place, tokens, f"{prefix}/", scheme=scheme, read_only=read_only),
    )
    return 0


def _announce(place: Listening, tokens: Tokens, path: str, *, scheme: str, read_only: bool) -> None:
    """The links, as the browser needs them."""
    from steelyard.web.listening import PORT

    port = place.port or PORT
    if place.path:
        account = f"{getpass.getuser()}@{platform.node()}"
        echo(f"on your own machine: ssh -N -L {port}:{place.path} {account}")
        echo("then open there:")
    name = "localhost" if place.path else f"[{place.address}]" if ":" in place.address else place.address
    if not read_only:
        echo(f"{scheme}://{name}:{port}{path}?token={tokens.act}")
    echo(f"{scheme}://{name}:{port}{path}?token={tokens.read}   (may only read)")
    echo("Ctrl-C ends the server; runs go on", err=True)
