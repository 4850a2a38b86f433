"""What a browser sends with a form, read no further than a form can be."""

from __future__ import annotations

from urllib.parse import parse_qsl

from starlette.requests import Request

from steelyard.errors import UsageError

MOST_BYTES = 1 << 20
_MOST_FIELDS = 200


async def read_form(request: Request) -> dict[str, str]:
    """The fields; the last of those that are called the same. Raises UsageError for what is too large."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_BYTES:
            raise UsageError(f"what was sent is larger than {MOST_BYTES >> 10} KiB, so nothing was done")
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError as error:
        raise UsageError(f"what was sent is no form: {error}") from error
