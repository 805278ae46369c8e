# SPDX-License-Identifier: BSD-3-Clause
"""queries.py: questions over a fleet's data set, in DuckDB's SQL over its Parquet.

`connected` gives a connection; each other function asks it one question and returns its
rows, the most important first. Lost time is GPU time that findings waste; traces
without a GPU count none. Traces of an unknown time are neither before nor after others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from torchtraceap.base.errors import ConfigError
from torchtraceap.fleets.data_set import DataSet
from torchtraceap.fleets.rows import TABLES, schemas

if TYPE_CHECKING:
    import duckdb

#: A row by the names of its columns.
Row = dict[str, Any]

#: Rows of an answer: more than any data set has programs.
MOST = 1_000_000
#: What findings can be summed up by.
KEYS = ("pattern", "model", "commit", "host", "gpu")

_TRIES = 5
# Questions are over copies of what they need: a run that replaces a batch removes its
# files, also between two questions. 1970-01-01 is a time that is unknown.
_COPIES = """
CREATE TABLE seen AS
SELECT *, min(time) FILTER (status <> 'failed') OVER of_item AS began,
  -- With a rank that failed, a job is as large: that trace does not name its job.
  coalesce(max(world_size) OVER of_item, count(*) OVER of_item) AS ranks
FROM (
  SELECT * REPLACE (nullif(time, TIMESTAMP '1970-01-01') AS time),
    coalesce(job, trace) AS item
  FROM traces
) WINDOW of_item AS (PARTITION BY item);
CREATE TABLE lost AS
SELECT f.trace, f.pattern, f.id, f.file, f.line, f.function, f.operator, t.program,
  t.model, t.commit, t.host, t.gpu, t.url, t.item, t.began,
  CASE WHEN t.gpu IS NULL THEN 0 ELSE f.wasted_us END AS lost_us
FROM findings f JOIN seen t USING (trace)
"""
_FACTS = """
SELECT count(*) AS traces, count(DISTINCT job) AS jobs,
  count(DISTINCT program) AS programs, count(*) FILTER (status = 'failed') AS failed,
  strftime(min(time), '%Y-%m-%d') AS first, strftime(max(time), '%Y-%m-%d') AS last,
  coalesce(sum(device_us) FILTER (gpu IS NOT NULL), 0) AS device_us,
  coalesce(sum(busy_us) FILTER (gpu IS NOT NULL), 0) AS busy_us,
  coalesce((SELECT sum(lost_us) FROM lost), 0) AS lost_us
FROM seen
"""
_PROGRAMS = """
WITH wasted AS (
  SELECT trace, sum(lost_us) AS lost_us FROM lost GROUP BY trace
), worst AS (
  SELECT program, max_by(pattern, (us, pattern)) AS pattern FROM (
    SELECT program, pattern, sum(lost_us) AS us FROM lost GROUP BY ALL HAVING us > 0
  ) GROUP BY program
), each AS (
  SELECT program, count(*) AS traces, count(*) FILTER (status = 'failed') AS failed,
    coalesce(sum(lost_us), 0) AS lost_us,
    coalesce(sum(device_us) FILTER (gpu IS NOT NULL), 0) AS device_us,
    coalesce(sum(busy_us) FILTER (gpu IS NOT NULL), 0) AS busy_us,
    string_agg(DISTINCT gpu, ', ' ORDER BY gpu) AS gpu, max(time) AS last,
    max_by(url, (coalesce(lost_us, 0), url)) AS url
  FROM seen LEFT JOIN wasted USING (trace) GROUP BY program
)
SELECT * FROM each LEFT JOIN worst USING (program)
ORDER BY lost_us DESC, program LIMIT $most
"""
_BY = """
SELECT {key} AS name, sum(lost_us) AS lost_us, count(*) AS findings,
  count(DISTINCT trace) AS traces, count(DISTINCT program) AS programs,
  max_by(url, (lost_us, url)) AS url
FROM lost WHERE {key} IS NOT NULL GROUP BY ALL
ORDER BY lost_us DESC, name LIMIT $most
"""
_APPEARED = """
WITH started AS (
  SELECT program, min(began) AS start FROM seen GROUP BY ALL
), each AS (
  SELECT min_by(lost, (began, url)) AS one, max(began) AS last,
    count(DISTINCT trace) AS traces, sum(lost_us) AS lost_us
  FROM lost WHERE began IS NOT NULL GROUP BY program, id
)
SELECT program, one.id, one.pattern, one.file, one.line, one.function, one.operator,
  one.began AS first, last, one.commit, one.url, traces, each.lost_us
FROM each JOIN started ON program = one.program WHERE one.began > start
ORDER BY each.lost_us DESC, first DESC, program, one.id LIMIT $most
"""
_RUNS = """
WITH wasted AS (
  SELECT trace, sum(lost_us) AS lost_us FROM lost GROUP BY trace
)
SELECT program, gpu, item, began AS time,
  min_by(commit, url) AS commit, min(url) AS url,
  median(step_us) AS step_us,
  CASE WHEN count(step_error_us) = count(*) THEN max(step_error_us) END
    AS step_error_us,
  coalesce(sum(lost_us), 0) / nullif(sum(device_us), 0) AS lost_share,
  ranks
FROM seen LEFT JOIN wasted USING (trace)
WHERE status NOT IN ('failed', 'unusable') AND gpu IS NOT NULL
  AND began < (now() AT TIME ZONE 'UTC') + INTERVAL 1 DAY -- A clock may be wrong.
GROUP BY ALL ORDER BY program, gpu, ranks, count(step_us) = 0, time, item
"""
_GROWN = """
SELECT number, max_by(pattern, (us, pattern)) AS pattern FROM (
  SELECT number, pattern, sum(us) AS us FROM (
    SELECT number, pattern, lost_us AS us FROM pairs JOIN lost ON item = after
    UNION ALL
    SELECT number, pattern, -lost_us AS us FROM pairs JOIN lost ON item = before
  ) GROUP BY ALL HAVING sum(us) > 0
) GROUP BY number
"""
_FAILURES = """
SELECT error_kind AS kind, count(*) AS traces, min(url) AS url,
  min_by(error, url) AS error
FROM seen WHERE status = 'failed' GROUP BY ALL
ORDER BY traces DESC, kind LIMIT $most
"""


def connected(folder: str) -> duckdb.DuckDBPyConnection:
    """Return a connection to what the data set has now: later runs change no answer.
    It has a view for each table, too, whose files a run may replace.

    Raises ConfigError if the folder is not a data set, or ImportError, which names the
    extra. Traces and findings are copied into memory.
    """
    try:
        import duckdb
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "questions over a fleet need DuckDB: pip install 'torchtraceap[fleet]'"
        ) from error
    tried: list[str] = []
    for _ in range(_TRIES):
        data = DataSet(folder)
        parts = [part for table in TABLES for part in data.parts(table)]
        try:
            return _connected(data)
        except (duckdb.IOException, duckdb.InvalidInputException) as error:
            damaged = error
            if parts == tried:  # No run has replaced a file since.
                break
            tried = parts
    why = str(damaged).splitlines()[0]
    raise ConfigError(
        f"a file of the data set is gone or damaged: {why}. Remove it if it is there, "
        "and run the fleet again: its traces are analyzed once more."
    ) from damaged


def _connected(data: DataSet) -> duckdb.DuckDBPyConnection:
    import duckdb

    connection = duckdb.connect()
    for table in TABLES:
        # The files of whole batches alone: another process may be writing one.
        if parts := data.parts(table):
            files = ", ".join("'" + part.replace("'", "''") + "'" for part in parts)
            source = f"read_parquet([{files}], union_by_name = true, "
            source += "hive_partitioning = false)"  # "k=v" in a folder's own path.
        else:
            connection.register(f"no_{table}", schemas()[table].empty_table())
            source = f"no_{table}"
        connection.sql(f"CREATE VIEW {table} AS SELECT * FROM {source}")
    connection.execute(_COPIES)
    return connection


def _asked(
    connection: duckdb.DuckDBPyConnection, query: str, **values: Any
) -> Iterator[Row]:
    found = connection.execute(query, values or None)
    names = [column[0] for column in found.description]
    for row in found.fetchall():
        yield dict(zip(names, row, strict=True))


def facts(connection: duckdb.DuckDBPyConnection) -> Row:
    """Return the counts of traces, jobs, programs and failures, the days, and the time
    of devices, busy and lost."""
    (row,) = _asked(connection, _FACTS)
    return row


def worst_programs(
    connection: duckdb.DuckDBPyConnection, most: int = MOST
) -> list[Row]:
    """Return programs by the GPU time that they lost."""
    return list(_asked(connection, _PROGRAMS, most=most))


def findings_by(
    connection: duckdb.DuckDBPyConnection, key: str, most: int = MOST
) -> list[Row]:
    """Return the time lost by each pattern, model, commit, host or GPU: ``key`` is one
    of `KEYS`."""
    if key not in KEYS:
        raise ValueError(f"{key!r} is not one of {', '.join(KEYS)}")
    return list(_asked(connection, _BY.format(key=key), most=most))


def appeared(connection: duckdb.DuckDBPyConnection, most: int = MOST) -> list[Row]:
    """Return the findings that a program did not have in its first trace, with the
    first trace and commit that have them."""
    return list(_asked(connection, _APPEARED, most=most))


def runs(connection: duckdb.DuckDBPyConnection) -> list[Row]:
    """Return each trace or job with a GPU, by program, GPU, number of ranks, whether it
    has steps, and time: its median step, and the share of its time that is lost. Those
    of tomorrow are left out, and those without a time."""
    return list(_asked(connection, _RUNS))


def grown(
    connection: duckdb.DuckDBPyConnection, pairs: Sequence[tuple[str, str]]
) -> dict[int, str]:
    """Return the pattern that lost the most more in the second item of each pair than
    in the first, by the place of the pair; none if nothing did."""
    import pyarrow as pa

    before, after = zip(*pairs, strict=True) if pairs else ((), ())
    text, number = pa.string(), pa.int64()
    table = {
        "number": pa.array(range(len(pairs)), number),
        "before": pa.array(before, text),
        "after": pa.array(after, text),
    }
    connection.register("pairs", pa.table(table))
    return {row["number"]: row["pattern"] for row in _asked(connection, _GROWN)}


def failures(connection: duckdb.DuckDBPyConnection, most: int = MOST) -> list[Row]:
    """Return the kinds of failures, with an example each."""
    return list(_asked(connection, _FAILURES, most=most))
