"""By which means a vault is used: what is run on a host for a directory, and for an object store."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from steelyard.errors import UsageError
from steelyard.model.command import Command
from steelyard.model.snapshot import StoredFile
from steelyard.model.tool import RCLONE, Tool

_BUCKET = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,62}(?:/[A-Za-z0-9_=+-][A-Za-z0-9._=+-]*)*)/?")
_LARGE = 64 << 10  # bytes; smaller files are copied even where a link would do, as some are appended to
_SETTINGS = {
    "ACCESS_KEY_ID": ("AWS_ACCESS_KEY_ID",),
    "SECRET_ACCESS_KEY": ("AWS_SECRET_ACCESS_KEY",),
    "SESSION_TOKEN": ("AWS_SESSION_TOKEN",),
    "REGION": ("AWS_REGION", "AWS_DEFAULT_REGION"),
    "ENDPOINT": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
}
_KEYS = ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN")


@dataclass(frozen=True, slots=True)
class StoreBackend:
    """How one kind of place is used.

    `root` is the place as the functions of `script` take it. `small_file_method` and `large_file_method` are
    how files are laid aside before they are stored (copy, link, symlink), `fetch_method` is how they come
    from there to their target.
    """

    root: str
    script: str
    small_file_method: str
    large_file_method: str
    fetch_method: str
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    hidden: tuple[str, ...] = field(default=(), repr=False)
    needs: tuple[Tool, ...] = ()

    def command(self, function: str, words: Sequence[str], stdin: str | None) -> Command:
        """What runs a function of the script."""
        argv = ("sh", "-c", f'{self.script}\n{function} "$@"', "sh", *words)
        return Command(argv, stdin=stdin, secrets=self.secrets)

    def staging_list(self, files: Sequence[StoredFile]) -> str:
        """Files below a directory that are to be laid aside, for `stage` in `vault.sh`."""
        hows = (self.large_file_method if file.size >= _LARGE else self.small_file_method for file in files)
        return "".join(f"{how}\n{_place(file)}\n{file.path}\n" for how, file in zip(hows, files, strict=True))

    def target_list(self, files: Sequence[StoredFile], cached: Mapping[str, PurePosixPath]) -> str:
        """Files that are to be laid at their paths, for `lay` in `vault.sh`."""
        return "".join(f"{self._source(file, cached)}\n{file.digest}  {file.path}\n" for file in files)

    def redact_secrets(self, message: str) -> str:
        """A message in which no key stands."""
        for value in self.hidden:
            message = message.replace(value, "***")
        return message

    def _source(self, file: StoredFile, cached: Mapping[str, PurePosixPath]) -> str:
        if file.digest in cached:
            return f"{'link' if file.size >= _LARGE else 'copy'}\n{cached[file.digest]}"
        return f"{self.fetch_method}\n{_place(file)}"


def choose_backend(place: str, secrets: Mapping[str, str]) -> StoreBackend:
    """Those of a place. Raises UsageError for one that is none."""
    if place.startswith("/") and place.strip("/.") and place.isprintable():
        return StoreBackend(str(PurePosixPath(place)), _script("vault.sh"), "copy", "link", "copy")
    if bucket := _BUCKET.fullmatch(place):
        return _object_store(bucket[1], secrets)
    hint = (
        "give a directory that all hosts can access, such as /shared/snapshots, or a bucket, such as "
        "s3://bucket/prefix"
    )
    raise UsageError(f"{place!r} is not a valid place for snapshots", hint=hint)


def _object_store(root: str, secrets: Mapping[str, str]) -> StoreBackend:
    given = {key: next(filter(None, map(secrets.get, names)), "") for key, names in _SETTINGS.items()}
    settings = {
        "TYPE": "s3",
        "PROVIDER": "Other" if given["ENDPOINT"] else "AWS",
        "ENV_AUTH": "false" if given["ACCESS_KEY_ID"] else "true",
        "NO_CHECK_BUCKET": "true",  # or it would want to create it
        **given,
    }
    return StoreBackend(
        root,
        _script("vault.sh", "vault_s3.sh"),
        *("symlink", "symlink", "link"),
        secrets={f"RCLONE_CONFIG_VAULT_{key}": value for key, value in settings.items() if value},
        hidden=tuple(given[key] for key in _KEYS if given[key]),
        needs=(RCLONE,),
    )


def _script(*names: str) -> str:
    return "\n".join(Path(__file__).with_name(name).read_text("utf-8") for name in names)


def _place(file: StoredFile) -> str:
    return f"{file.digest[:2]}/{file.digest}"
