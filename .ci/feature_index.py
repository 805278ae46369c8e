#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""feature_index.py [--write]: the page on the arrays of a report, docs/features.md.

Its tables are made of the core's. tests/python/test_features.py compares the two.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from torchtraceap.data.features import FeatureColumn, Features

PAGE = Path(__file__).parents[1] / "docs" / "features.md"

HEAD = """\
# Arrays for models

`report.features()` returns the windows of a report as arrays: statistics of each
window, the share of it that each pattern wastes, and a row for each event in it. A
detector is trained on them; in a notebook they show what a window looks like in
figures.

```python
import numpy as np

import torchtraceap

report = torchtraceap.analyze(
    "tests/data/kineto2021-v100-resnet50-workers0-memory.json.gz"
)
features = report.features()
print(features.windows.shape, len(report.windows), len(features.columns))
```

`windows` is float32, a row for each of `report.windows`; `columns` names its columns.

```python
column = dict(zip(features.columns, features.windows.T, strict=True))
worst = int(np.argmax(column["late_in_loader"]))
print(report.windows[worst].labels[0].pattern, column["late_in_loader"][worst])
```

`tokens` has an array for each column of the events, window after window; those of
window `i` are `token_begin[i]` to `token_begin[i + 1]`. `parent` and `launch` are
places in these arrays too, also in an earlier window: with work queued ahead of the
device most launches lie there. Here it is the window in which launched work waited for
the largest share of the time:

```python
full = int(np.argmax(column["queued"]))
begin, end = features.token_begin[full : full + 2]
kinds = list(features.kinds())
names = [kinds[k] for k in features.tokens["kind"][begin:end]]
calls = features.tokens["launch"][begin:end]
here = int((calls >= begin).sum())
print(names.count("launch"), "launches,", (calls >= 0).sum(), "works,", here, "by them")
```

`row` is the number of each token's event in the trace: of `Trace.columns`, and of the
table of events. It says who a token is, and is nothing to learn from. The names and the
lines of the program come by token:

```python
longest = begin + int(np.argmax(features.tokens["duration"][begin:end]))
print(features.row[longest], features.names([longest]), features.locations([longest]))
```

Coarse windows are made of fine ones: `features(merge=4)` says all of this of up to four
neighbors of a step at once, as if they had been one window. Those in row `i` are
`report.windows[window_begin[i]:window_begin[i + 1]]`.

```python
coarse = report.features(merge=4)
first, last = coarse.window_begin[:-1], coarse.window_begin[1:] - 1
print(report.windows[first[0]].start_us, report.windows[last[0]].end_us)
```

- Nothing is copied: all are read-only views of the core's memory, made anew at each
  call.
- Features cannot be pickled, as they hold the trace: a worker process makes its own, by
  `analyze(path).features()`, or is given copies of the arrays.
- `table()`, `token_table()` and `kinds()` say what columns and kinds are, as below.
- `fingerprint` changes with the names, types, units, normalizations, what is missing,
  versions, order and kinds: arrays that were kept with another one do not fit these.
  A version is raised when a column or kind comes to hold something else under its name.
  Weights do not depend on the fingerprint
  ([weights and versions](detector.md#weights-and-versions)).
- Shares are 0 to 1. A log2 ratio of `a` to `b` is log2(1 + a / b), 1 where they are
  equal; a log2 count (or log2 bytes, ns) log2(1 + n). The *launch cost* is the trace's
  median launch call; without any, of other runtime calls, else of operators that call
  no other, else of any event of the host. A median of a name counts as a sixteenth of
  the launch cost at least. No share, ratio or count changes if all times are twice as
  long: hardware cancels out.
- Gaps no longer than what the times of the device are rounded to (1 ns, of early
  traces 1 us) are none: `gaps_per_work`, `gap_median`, `gap_longest`, `launched_late`
  and a token's `device_busy` leave them out.
- *Device time* is that of all work in the window, each piece for itself; *kernel time*
  that of the kernels that start in it, whole. Kernels that *compute* are all but those
  of collectives, which last until other ranks come.
- *Host time* is that of all threads in operators, runtime calls and marks. Python
  frames, ranges of the program and the profiler's own events are no part of it, so
  that what is recorded besides does not decide what share operators have.
- Of percentiles the nearest rank is taken, of two values' median the lower.
- A window's value is NaN where the table says so, and only there. A trace without
  device work has NaN in all columns that are missing with "no device". Of an unusable
  trace no cause is known. No token is NaN; what an event does not have is -1.
- The order of events in the file, the clock, and the numbers of processes, threads
  and devices decide nothing. (Where two events of a thread begin and end together,
  the order of the file says which encloses the other.)
- The arrays of a process that feeds several devices hold its host's events once for
  each.
- Events that repeat: `repeats` counts a row of the same name under the same parent,
  or on the same stream, at its first token in the window; it is 0 of the others and of
  all inside them. So `repeats > 0` keeps one of each.
"""

WINDOWS = """
## Statistics of a window

| column | unit | of | NaN if | what it is |
|---|---|---|---|---|
"""

CAUSES = """\
| `cause_<pattern>` | share | window | unusable trace | what that pattern \
wastes of it, also if it is too little for a label ({count} columns, \
one for each [pattern](patterns/README.md)) |
"""

TOKENS = """
## Columns of an event

| column | type | unit | of | -1 if | what it is |
|---|---|---|---|---|---|
"""

KINDS = """
## Kinds of events

| number | kind | what it is |
|--:|---|---|
"""


def page() -> str:
    """Return the text of the page."""
    columns = Features.table()
    causes = [c for c in columns if c.name.startswith("cause_")]
    rows = [c for c in columns if c not in causes]
    kinds = enumerate(Features.kinds().items())
    return "".join(
        [
            HEAD,
            WINDOWS,
            *_rows(((c.unit, c.normalization, c.missing) for c in rows), rows),
            CAUSES.format(count=len(causes)),
            TOKENS,
            *_rows(
                ((c.type, c.unit, c.normalization, c.missing) for c in _tokens()),
                _tokens(),
            ),
            KINDS,
            *(f"| {i} | `{name}` | {doc} |\n" for i, (name, doc) in kinds),
        ]
    )


def _tokens() -> tuple[FeatureColumn, ...]:
    return Features.token_table()


def _rows(
    cells: Iterable[tuple[str, ...]], columns: Iterable[FeatureColumn]
) -> Iterator[str]:
    for column, told in zip(columns, cells, strict=True):
        yield f"| `{column.name}` | {' | '.join(told)} | {column.doc} |\n"


def main() -> int:
    """Print the page, or write it."""
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page(), "utf-8")
    else:
        print(page(), end="")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
