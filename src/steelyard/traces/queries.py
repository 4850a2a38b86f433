"""The questions that a profile puts to duckdb: all about a view `calls` of a trace's table, without notes."""

# ruff: noqa: S608 - numbers of ours alone are put into these texts

from __future__ import annotations

BINS = 60
"""Parts of the time."""
PARTS = 16
"""Parts of a file."""
MOST_FILES = 20

_SPAN = "(SELECT min(start) AS first, greatest(1, max(start + duration) - min(start)) AS span FROM calls)"

GROUPS = """
SELECT {by}, count(*) AS calls, count(error) AS errors,
  sum(CASE WHEN kind IN ('read', 'write', 'copy') THEN coalesce(result, 0) ELSE 0 END)::BIGINT AS bytes,
  sum(duration) / 1e9 AS seconds, quantile_cont(duration, 0.5) / 1e9 AS p50,
  quantile_cont(duration, 0.99) / 1e9 AS p99, max(duration) / 1e9 AS longest
FROM calls GROUP BY {by} ORDER BY seconds DESC
"""
TOTALS = """
SELECT count(*), coalesce(max(start + duration) - min(start), 0) / 1e9, count(DISTINCT process),
  count(DISTINCT thread), count(DISTINCT path), coalesce(sum(duration), 0) / 1e9
FROM calls
"""
SIZES = """
SELECT kind, CASE WHEN result = 0 THEN 0 ELSE floor(log2(result))::INTEGER END AS power, count(*),
  sum(result)::BIGINT
FROM calls WHERE kind IN ('read', 'write') AND result > 0 GROUP BY ALL ORDER BY kind, power
"""
# Of the same thread, file and kind: where the last one ended, or as far from its start as that was from the
# one before it. The first on a file is none of these.
PATTERNS = """
SELECT kind,
  CASE WHEN "offset" = ended THEN 'sequential' WHEN stride = before AND stride <> 0 THEN 'strided'
       ELSE 'random' END AS pattern,
  count(*), sum(result)::BIGINT
FROM (
  SELECT *, lag(stride) OVER w AS before FROM (
    SELECT kind, "offset", result, thread, path, start, "offset" - lag("offset") OVER w AS stride,
      lag("offset" + result) OVER w AS ended
    FROM calls WHERE kind IN ('read', 'write') AND result > 0 AND "offset" IS NOT NULL
    WINDOW w AS (PARTITION BY thread, path, kind ORDER BY start)
  ) WINDOW w AS (PARTITION BY thread, path, kind ORDER BY start)
) WHERE ended IS NOT NULL GROUP BY ALL
"""
FILES = f"""
SELECT path, sum(CASE WHEN kind = 'read' THEN result ELSE 0 END)::BIGINT AS read,
  sum(CASE WHEN kind = 'write' THEN result ELSE 0 END)::BIGINT AS written, count(*) AS calls,
  sum(duration) / 1e9 AS seconds
FROM calls WHERE path IS NOT NULL AND (result IS NOT NULL OR error IS NULL) GROUP BY path
ORDER BY read + written DESC, calls DESC, path LIMIT {MOST_FILES}
"""
MOST_AT_ONCE = """
SELECT coalesce(max(running), 0) FROM (
  SELECT sum(step) OVER (ORDER BY t, step ROWS UNBOUNDED PRECEDING) AS running FROM (
    SELECT start AS t, 1 AS step FROM calls UNION ALL SELECT start + duration, -1 FROM calls))
"""
OVER_TIME = f"""
SELECT least({BINS - 1}, floor((start - first) * {BINS} / span))::INTEGER AS bin,
  sum(CASE WHEN kind = 'read' THEN result ELSE 0 END)::BIGINT,
  sum(CASE WHEN kind = 'write' THEN result ELSE 0 END)::BIGINT, count(*)
FROM calls, {_SPAN}
GROUP BY bin ORDER BY bin
"""
# A call counts in each part of the time for as long as it ran there.
BUSY = f"""
SELECT bin, sum(least(till, (bin + 1) * width) - greatest(since, bin * width)) / 1e9 FROM (
  SELECT since, till, width, unnest(range(least({BINS - 1}, floor(since / width))::BIGINT,
    least({BINS - 1}, floor(till / width))::BIGINT + 1)) AS bin
  FROM (SELECT start - first AS since, start - first + duration AS till, span / {BINS} AS width
    FROM calls, {_SPAN})
) GROUP BY bin
"""
HEAT = f"""
SELECT least({BINS - 1}, floor((start - first) * {BINS} / span))::INTEGER AS bin,
  least({PARTS - 1}, floor("offset" * {PARTS} / greatest(1, whole)))::INTEGER AS part, sum(result)::BIGINT
FROM calls, {_SPAN},
  (SELECT max("offset" + result) AS whole FROM calls WHERE path = ? AND kind IN ('read', 'write'))
WHERE path = ? AND kind IN ('read', 'write') AND result > 0 AND "offset" IS NOT NULL GROUP BY ALL
"""
