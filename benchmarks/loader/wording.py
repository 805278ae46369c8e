# SPDX-License-Identifier: BSD-3-Clause
"""wording.py: the words of results/performance.md; render.py fills them."""

INTRODUCTION = """\
# Performance

Written by `python -m benchmarks.loader.run`; not edited by hand. It makes the inputs,
builds this tree as it is shipped, installs the other loaders, checks that all agree on
what the inputs hold, and measures. **Ratios of one run count, milliseconds do not**:
the next machine has others. `--quick` takes a minute or two and leaves this page alone;
[benchmarks/README.md](../README.md) tells more.

{machine}
"""

INPUTS = """\
`sim-N` are training steps recorded by torch 2.13 on a CPU, repeated up to N MB, with a
simulated device: launches, kernels, copies and their arrows. `real` is a trace as its
owner published it. *raw* is the profiler's own layout, *gzip* the same at level 6,
*compact* without white space. MB are 10^6 bytes of uncompressed JSON.
"""

LIMITS = """\
The *limit* is simdjson's On-Demand parser, warm, over a text that is already in memory,
touching the fields that the loader reads and keeping nothing. The loader reads the
file, validates everything, and fills columns. *ratio* is the limit's time divided by
the row's, on the same layout (gzip: on raw), CPU time for the rows of one thread and
wall clock for two, and so is *median*. All else is the best of {rounds} rounds in
which all rows of an input took turns.
"""

ANALYSIS = """\
What follows the load, on one thread, in the same rounds: *timeline* are lanes, operator
trees, links and device time; *analysis* is all of it, the timeline included: links,
windows, balance, rules. *x load* is CPU time divided by that of raw, 1 thread.
"""

PEERS = """\
Each call in a process of its own, after the imports, best (and median of the wall
clock) of {rounds} rounds in which all took turns. *peak* is resident memory over that
before the call, divided by the size of the JSON; *slower* is the wall clock divided by
that of torchtraceap with 2 threads.
All read the raw layout. What they give differs: msgspec's typed objects hold the same
fields (*with args*: also the ids that link launches) but no columns; pysimdjson has
validated and indexed, and makes objects only when asked; orjson and json give dicts;
HTA a DataFrame; the TensorBoard plugin its own events.
"""

AGREEMENT = """\
Before it counts, every row is compared with what the input is known to hold (counted
while it was written; for the real trace, by exact decimal arithmetic): events, those of
phase X, the sum of their durations and the earliest start in nanoseconds, device work,
ends of flows; those of them that the loader keeps. Counts and sums must be equal. The
earliest start may be off by 1 ns where a loader reads floats; HTA rounds starts up and
ends down to whole microseconds, so its sum may be off by 2 us an event.
"""

SCALING = """\
t(4N)/t(N) in CPU time, loading on one processor and then analyzing: 4 is linear. Every
call is in a process of its own, so that memory is as fresh at N as at 4N. The hostile
kinds drive one property each far (`scaling.py` says which). "-" took less than 3 ms at
N.
"""
