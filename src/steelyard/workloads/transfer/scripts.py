"""The stages of `transfer` as shell scripts: sources are made and moved, sizes compared, all is removed."""

from __future__ import annotations

from steelyard.workloads.transfer.protocols import TransferProtocol

_SOURCES = """
rm -rf source target pairs.txt && mkdir source target
for n in $(seq 1 $FILES); do head -c $SIZE /dev/urandom > source/file-$n; done
"""
# Files one by one, $CONCURRENCY at a time, a line for each: its number, exit code, start and end.
_EACH = """
export MOVE
seq 1 $FILES | xargs -P $CONCURRENCY -n 1 sh -c '
    began=$(date +%s.%N); code=0
    sh -c "$MOVE" sh "$1" >> "$OUT/errors.txt" 2>&1 || code=$?
    echo "$1 $code $began $(date +%s.%N)" >> "$OUT/files.txt"
' sh
failed=$(awk '$2 != 0' "$OUT/files.txt" | wc -l)
"""
_ALL = """
failed=$(sh -eu -c "$MOVE")
"""
_RUN = """
: > "$OUT/files.txt"; : > "$OUT/errors.txt"; began=$(date +%s.%N)
{move}
echo "run ${{failed:-0}} $began $(date +%s.%N)" >> "$OUT/files.txt"
cp "$OUT/files.txt" moved.txt
[ "${{failed:-0}}" -lt $FILES ] || {{ tail -c 1500 "$OUT/errors.txt" >&2; exit 1; }}
"""
_FETCH_BACK = """
rm -rf target && mkdir target
sh -eu -c "$BACK"
"""
# As many files as are said to have arrived must be there in full length.
_COUNT_HERE = """
whole=$(find target -type f -size ${SIZE}c | wc -l)
failed=$(sed -n 's/^run \\([0-9]*\\) .*/\\1/p' moved.txt)
[ $((whole + failed)) -ge $FILES ] || {
    echo "$whole of $FILES files were complete, but only $failed were reported as failed" >&2; exit 1
}
"""
_COUNT_THERE = """
awk '$1 != "run" && $2 == 0 { print $1 }' moved.txt | while read -r number; do
    size=$(sh -eu -c "$LENGTH" sh "$number" < /dev/null)
    [ "$size" = "$SIZE" ] || { echo "file-$number has ${size:-no} bytes there, not $SIZE" >&2; exit 1; }
done
"""


def prepare(protocol: TransferProtocol, *, download: bool) -> tuple[str, dict[str, str]]:
    """Make the sources; for downloads put them on the server. The script and its variables."""
    script, env = f"{_SOURCES}{protocol.begin}\n", {"MOVE": protocol.upload}
    if not download:
        return script, env
    check = '[ "${failed:-0}" = 0 ] || { cat "$OUT/errors.txt" >&2; exit 1; }\n'
    return f'{script}: > "$OUT/files.txt"\n{_move_script(protocol)}{check}', env


def run(protocol: TransferProtocol, *, download: bool) -> tuple[str, dict[str, str]]:
    """Move the files."""
    way = protocol.download if download else protocol.upload
    return _RUN.format(move=_move_script(protocol)), {"MOVE": way}


def verify(protocol: TransferProtocol, *, download: bool) -> tuple[str, dict[str, str]]:
    """Compare sizes of what arrived."""
    if download:
        return _COUNT_HERE, {}
    if protocol.is_batch:
        return _FETCH_BACK + _COUNT_HERE, {"BACK": protocol.download}
    return _COUNT_THERE, {"LENGTH": protocol.size}


def remove(protocol: TransferProtocol) -> tuple[str, dict[str, str]]:
    """Remove what lies on the server, as far as the protocol can, and here."""
    return f"{protocol.remove}\nrm -rf source target\n", {}


def _move_script(protocol: TransferProtocol) -> str:
    return _ALL if protocol.is_batch else _EACH
