"""How any program finds the service that it is pointed at: by variables of its environment. Pure.

What a service tells in capitals is handed on as it is (`CONTACT_NAMES`, `NODE_PORT` of a ring, as Hecuba
knows them). One that is reached by TLS tells the certificate of its authority, as PEM. For what speaks CQL
there is a `cqlshrc`, too: `cqlsh --cqlshrc "$CQLSHRC"`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from steelyard.model.command import Command, Endpoint, Place
from steelyard.model.keys import reference

PASSWORD = "STEELYARD_SERVICE_PASSWORD"  # noqa: S105 - the name of a variable
_PREFIX = "STEELYARD_SERVICE_"
_AUTHORITY = f"{_PREFIX}AUTHORITY"
# The password comes through the environment and goes to a file of mode 0600 in the scratch, which goes with
# the trial. Ranks elsewhere may have no such directory; several of one machine write the same, each whole.
_CQLSHRC = f"""
if [ -d "${{CQLSHRC%/*}}" ]; then (
  umask 077
  printf '[PlainTextAuthProvider]\\nusername = %s\\npassword = %s\\n' \
    "$STEELYARD_SERVICE_USER" "${PASSWORD}" > "$CQLSHRC.$$"
  mv -f "$CQLSHRC.$$" "$CQLSHRC.credentials"
  if [ -n "${{{_AUTHORITY}:-}}" ]; then
    printf '%s' "${_AUTHORITY}" > "$CQLSHRC.$$"
    mv -f "$CQLSHRC.$$" "$CQLSHRC.authority"
    tls=$(printf 'ssl = true\\n[ssl]\\nvalidate = true\\ncertfile = %s' "$CQLSHRC.authority")
  fi
  printf '[authentication]\\ncredentials = %s\\n[connection]\\nhostname = %s\\nport = %s\\n%s\\n' \
    "$CQLSHRC.credentials" "$CQLSH_HOST" "$CQLSH_PORT" "${{tls-}}" > "$CQLSHRC.$$"
  mv -f "$CQLSHRC.$$" "$CQLSHRC"
) fi
exec "$@"
"""


def add_service_variables(command: Command, place: Place) -> Command:
    """The command with all that it must know of `place.to`, and of all other services and roles.

    `STEELYARD_CORES` is how many cores are the program's own beside what runs on the same host.
    """
    to = place.to
    more, passwords = reference.credentials(place.endpoints)
    others = {**reference.variables(place.references), **more}
    if to is None:
        return replace(command, env={**others, **command.env}, secrets={**passwords, **command.secrets})
    own = {"STEELYARD_CORES": str(place.share or place.cores), "SCRATCH": str(place.scratch)}
    env = {**others, **own, **variables(to)}
    secrets = {**passwords, **({PASSWORD: to.password} if to.password else {})}
    told = replace(command, env={**env, **command.env}, secrets={**secrets, **command.secrets})
    return _add_cqlshrc(told, place, to) if to.facts.get("protocol") == "cql" else told


def variables(to: Endpoint) -> Mapping[str, str]:
    """What is no secret of a service."""
    own = {key: value for key, value in to.facts.items() if key.isupper() and key.replace("_", "").isalnum()}
    named = {"ADDRESS": to.address, "PORT": str(to.port), "USER": to.facts.get("user", "")}
    named["AUTHORITY"] = to.authority or ""
    return {**{f"{_PREFIX}{key}": value for key, value in named.items() if value}, **own}


def _add_cqlshrc(command: Command, place: Place, to: Endpoint) -> Command:
    named = {"CQLSHRC": str(place.scratch / "cqlshrc"), "CQLSH_HOST": to.address, "CQLSH_PORT": str(to.port)}
    wrapped = command.wrap("sh", "-c", _CQLSHRC, "sh")
    return replace(wrapped, env={**named, **command.env})
