# SPDX-License-Identifier: BSD-3-Clause
"""path_words.py: what docs/agreement_critical_path.md says between its tables."""

INTRODUCTION = """\
# Critical paths beside those of Holistic Trace Analysis

Written by `python benchmarks/agreement/critical_path.py`; not edited by hand. HTA
{hta} has a critical path analysis, and so have we ([replay.md](replay.md)). Both were
asked for the path of each `ProfilerStep` and of the whole trace, of {all} public
traces. HTA answered for {windows} paths of {handled} traces. {date}, commit {commit};
{processor}, {cores} cores. Loading and all paths took HTA {their_seconds} s, the
whole of our analysis and all paths {our_seconds} s, on a shared machine (load average
{load_before:.0f}).

They do not ask the same question. HTA looks for the largest sum of weights in a graph
of operators, calls and kernels, wherever it begins; ours is what the end waited for,
back to the begin of the window, so it is as long as the window. In the {believed}
windows of traces that we call replayable both are in the same category for {same} of
the time in the median, and for 95 % or more in {above} windows. Of the device time on
our path, {on_theirs} is work that is on theirs too (median), of theirs {on_ours} on
ours.

Every moment at which the two differ is given to a rule of HTA's; {left} has more than
5 % without one. Whether a kernel was launched late or belongs to a graph was read from
the raw events. What HTA's length lacks of the window is accounted for in full: time
outside its path, and time that its path passes over without weight.

The comparison found one mistake of ours, in `a100x8-nccl-rank3of8-control`: the calls
of a thread that prefetches input seemed to have woken autograd, because they ended
last before it began. Hand-overs now come from threads that run operators where there
are any; the paths of two steps and of the whole trace are others than before.
"""

MAPPING = """\
## What is compared with what

HTA is run with `include_last_profiler_step=True` and `HTA_DISABLE_NS_ROUNDING=1`, so
that it looks at what we look at. Its times are those of its nodes' events, taken from
the file. Its own categories are coarser: `cpu_bound` is host and calls,
`gpu_compute_bound` computation and copies.

| category | ours | HTA's |
|---|---|---|
| host | `host`: think time between calls | operator edges given to an operator, \
or to none |
| runtime_calls | `runtime_calls` | operator edges given to a runtime or driver call |
| compute, communication, copies | `work` edges, by category and name | operator edges \
given to device work, by the same names |
| device_delay | launch, FIFO, queue, sync and stream-wait edges | kernel-launch and \
kernel-kernel delays |
| hand_over, before_the_trace | `hand_over`, `anchor` | has none |
| between_operators | has none: `host` | dependency edges: they have no weight |
| blocking_call | has none: `runtime_calls`, or device work | operator edges that HTA \
sets to 0 |
| return | `device_delay` | sync edges: they have no weight |
"""

WINDOWS = """\
## Each path

*outside*: of the window, before HTA's path begins and after it ends (negative: it
ends later). *no weight*: what it passes over. *same*: share of the time of either
path in which both are in the same category. *our work on theirs*: share of the device
time on our path whose work is on theirs, and the other way round. A step ends on the
host, and HTA's path of it with the last work that was launched in it; where that is
later (*its work*), ours was asked for the path to that work too. *refused*: we do not
call the trace replayable and give no gains for it. Reasons are listed from 5 %.
"""

SPLIT = """\
## What the paths are made of

Whole traces, shares of the time that each path takes.
"""

SIMULATED = """\
## If device work took no time

HTA's documentation simulates by changing weights of its graph, with
`CRITICAL_PATH_ADD_ZERO_WEIGHT_LAUNCH_EDGE=1`; ours is `whatif --scale '*=0'`. Only the
gains compare, and those only where the paths are the same: HTA's lengths lack what has
no weight, and waits that it takes for host work remain. In
`v100-ns-timestamps-rank0of1` the paths are the same and HTA gains less: launches there
waited 253 ms for a place in the full queue, which its graph has no rule for.
"""
