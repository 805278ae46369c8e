# SPDX-License-Identifier: BSD-3-Clause
"""job_words.py: what is shown of a job's ranks, and in which words.

Text, page and budgets say it alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchtraceap._core import Culprit, Late, RankRow
from torchtraceap.base.location import place_text
from torchtraceap.base.safe_text import printable
from torchtraceap.base.text_table import headed
from torchtraceap.base.units import counted, share_text, time_text
from torchtraceap.data.job import JobData

#: A step that would be shorter by less than this share counts as even: healthy ranks
#: differ by more from one step to the next.
NOTABLE = 0.02

_WORK = {
    "host": "host work",
    "runtime_calls": "runtime calls",
    "compute": "kernels",
    "copies": "copies",
}
_KINDS = {
    "host": "work of the host: Python and operators",
    "runtime_calls": "calls that launch kernels and copies",
    "compute": "kernels",
    "copies": "copies and memsets",
}


def is_slowed(job: JobData) -> bool:
    """Tell whether a job loses time that even ranks would not."""
    facts = job.facts
    return facts.replayed_us - facts.even_us >= NOTABLE * facts.replayed_us > 0


def notable_causes(job: JobData) -> tuple[Late, ...]:
    """Return the causes of late ranks that are not chance, the most waited for first;
    nothing if the job is not slowed."""
    return tuple(late for late in job.late if late.culprit) if is_slowed(job) else ()


def notable_culprits(job: JobData) -> tuple[Culprit, ...]:
    """Return the ranks, stages and kinds of work that a step would be 2 % shorter
    without; none, where the job is not slowed."""
    if not is_slowed(job):
        return ()
    least_us = NOTABLE * job.facts.replayed_us
    return tuple(one for one in job.culprits if one.gain_us >= least_us)


def on_gpus(job: JobData) -> bool:
    """Tell whether what the ranks wait with are GPUs."""
    return any(row.device != "CPU" for row in job.ranks)


def together_text(us: float, gpus: bool) -> str:
    """Write time of several ranks added up: ``77 GPU-ms``, else ``77 ms``."""
    if not gpus:
        return time_text(us)
    number, _, unit = time_text(us).rpartition(" ")
    return f"{number} GPU-{unit}"


def late_place(late: Late) -> str:
    """Write what the rank did: a line, else an operator or kernel; ``-`` of neither."""
    return place_text(late.location, late.name) or "-"


def late_why(late: Late) -> str:
    """Write why it was late: a pattern of its own report, else what it did."""
    if late.finding is not None:
        return late.finding.pattern
    return _WORK.get(late.kind, late.what)


def collective_text(name: str, sequence: int | None) -> str:
    """Write a collective: ``allreduce #118``; without its number, ``allreduce``."""
    name = printable(name, 40)
    return name if sequence is None else f"{name} #{sequence}"


def waited_text(late: Late, gpus: bool) -> str:
    """Write what others waited: ``7 ranks waited 77 GPU-ms in allreduce #118``."""
    ranks = f"{late.waiting} rank{'s' if late.waiting != 1 else ''}"
    together = " together" if late.waiting > 1 and not gpus else ""
    where = collective_text(late.collective, late.sequence)
    if late.count > 1:
        longest = (
            f", longest in {where}" if late.sequence is not None else f" ({where})"
        )
        where = f"{late.count:,} collectives{longest}"
    return f"{ranks} waited {together_text(late.waited_us, gpus)}{together} in {where}"


def step_text(job: JobData) -> str:
    """Write what lengths are of: ``a step``, or ``the recording`` without steps."""
    return "a step" if job.facts.steps else "the recording"


def culprit_text(culprit: Culprit) -> str:
    """Write who or what it is: ``rank 3``, ``stage 2``, ``kernels``."""
    name = printable(culprit.name, 40)
    if culprit.what != "kind":
        return f"{culprit.what} {name}"
    return _KINDS.get(name, f"transfer in {name}")


def slowdown_text(job: JobData) -> str:
    """Write the verdict in one sentence."""
    facts, what = job.facts, step_text(job)
    if not facts.joined_collectives:
        return (
            "Nothing can be said of who waited for whom: no two of these traces have a "
            "collective or message in common."
        )
    took = f"{what} takes {time_text(facts.replayed_us)}"
    even = time_text(facts.even_us)
    if not is_slowed(job):
        among = " among the ranks at hand" if facts.missing else ""
        return headed(
            f"No stragglers{among}",
            f"{took}, and would take {even} if every rank took "
            f"for its work what the others take (slowdown {facts.slowdown:.2f}; what "
            f"is under {1 / (1 - NOTABLE):.2f} is noise).",
        )
    gain = time_text(facts.replayed_us - facts.even_us)
    return headed(
        f"Slowdown {facts.slowdown:.2f}",
        f"{took}, and would take {even}, {gain} less, "
        "if every rank took for its work what the others take.",
    )


def job_fact_texts(job: JobData) -> Iterator[str]:
    """Write what the job is: ranks, steps, devices, hosts, recording."""
    facts = job.facts
    of = f" of {facts.world_size}" if facts.world_size else ""
    yield f"{facts.ranks}{of} rank{'s' * ((facts.world_size or facts.ranks) > 1)}"
    if facts.missing:
        yield f"{len(facts.missing)} missing"
    yield counted(facts.steps, "step") if facts.steps else "no steps"
    yield _devices(job.ranks)
    hosts = {row.host for row in job.ranks} - {""}
    if len(hosts) > 1:
        yield counted(len(hosts), "host")
    if facts.recording and facts.recording != facts.source:
        yield f"recording {printable(facts.recording)}"


def _devices(ranks: Sequence[RankRow]) -> str:
    names = sorted({row.device for row in ranks})
    if names == ["CPU"]:
        return "CPU only"
    return " and ".join(printable(name, 40) for name in names)


def trust_texts(job: JobData) -> Iterator[str]:
    """Say how sure all this is, and what is not covered."""
    facts = job.facts
    if not facts.joined_collectives:
        return
    yield headed(
        "Clocks",
        "with hosts set so that collectives end together, those of the worst "
        f"rank end within {time_text(facts.clock_residual_us)} of the others' "
        "(median): a shorter wait is no difference.",
    )
    yield headed(
        "Replay",
        f"a step of the unchanged job comes out {share_text(facts.replay_error, 1)} "
        "off what was recorded.",
    )
    unknown = []
    if facts.unmatched:
        unknown.append(f"{counted(facts.unmatched, 'collective')} of one rank alone")
    if facts.contradicted:
        unknown.append(
            f"{facts.contradicted:,} whose ranks were not in it at the same time"
        )
    if unknown:
        yield headed("Not joined", f"{' and '.join(unknown)}.")
