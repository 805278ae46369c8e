# SPDX-License-Identifier: BSD-3-Clause
"""job_words.py: the wording of a job's ranks, shared by text, page and
budgets.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from torchtraceap._core import Culprit, DecodeSkew, Late, LateRank, RankRow
from torchtraceap.base.location import place_text
from torchtraceap.base.safe_text import printable
from torchtraceap.base.text_table import headed
from torchtraceap.base.units import counted, share_text, time_text
from torchtraceap.data.job import JobData
from torchtraceap.views.finding_text import range_text

#: A step that would be shorter by less than this share counts as even: healthy ranks
#: differ by more from one step to the next.
NOTABLE = 0.02

NOT_JOINED = (
    "It is unknown which rank waited for which: no two of these traces have a "
    "collective or message in common."
)
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
    return job.answer.verdict in ("ranks", "transfers")


def job_name(job: JobData) -> str:
    """Return the named source; for several files, the first of them."""
    paths = list(dict.fromkeys(row.path for row in job.ranks))
    if job.facts.source != job.facts.recording and len(paths) > 1:
        return job.facts.source
    return " and ".join(
        [*paths[:1], *([f"{len(paths) - 1} more"] if paths[1:] else [])]
    )


def notable_causes(job: JobData) -> tuple[Late, ...]:
    """Return the causes of late ranks that are not chance, the costliest first; none if
    the job is not slowed."""
    return tuple(late for late in job.late if late.culprit) if is_slowed(job) else ()


def notable_culprits(job: JobData) -> tuple[Culprit, ...]:
    """Return the ranks, stages and kinds of work whose fix makes a step at least 2 %
    shorter; none if the job is not slowed."""
    if not is_slowed(job):
        return ()
    least_us = NOTABLE * job.facts.replayed_us
    return tuple(one for one in job.culprits if one.gain_us >= least_us)


def on_gpus(job: JobData) -> bool:
    """Tell whether the ranks wait on GPUs."""
    return any(row.device != "CPU" for row in job.ranks)


def together_text(us: float, gpus: bool) -> str:
    """Write the summed time of several ranks: ``77 GPU-ms``, else ``77 ms``."""
    if not gpus:
        return time_text(us)
    number, _, unit = time_text(us).rpartition(" ")
    return f"{number} GPU-{unit}"


def late_place(late: Late) -> str:
    """Write where the rank was: a line, else an operator or kernel, else ``-``."""
    return place_text(late.location, late.name) or "-"


def late_why(late: Late) -> str:
    """Write why it was late: a pattern of its own report, else its kind of work."""
    if late.finding is not None:
        return late.finding.pattern
    return _WORK.get(late.kind, late.what)


def collective_text(name: str, sequence: int | None) -> str:
    """Write a collective: ``allreduce #118``; without its number, ``allreduce``; of a
    kernel without its arguments."""
    name = printable(name.partition("(")[0] or name, 40)
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
    """Write what was measured: ``a step``, or ``the recording`` without steps."""
    return "a step" if job.facts.steps else "the recording"


def culprit_text(culprit: Culprit) -> str:
    """Write the culprit: ``rank 3``, ``stage 2``, ``kernels``."""
    if culprit.what != "kind":
        return f"{culprit.what} {printable(culprit.name, 40)}"
    known = _KINDS.get(culprit.name)
    return known or f"transfer in {collective_text(culprit.name, None)}"


def slowdown_text(job: JobData) -> str:
    """Write the verdict in one sentence."""
    facts, what = job.facts, step_text(job)
    if job.answer.verdict == "unknown":
        return "" if job.decode_skew else NOT_JOINED
    took = f"{what} takes {time_text(facts.replayed_us)}"
    even = time_text(facts.even_us)
    among = among_text(job)
    if not is_slowed(job):
        name = "No slowdown by replay" if decode_texts(job) else "No stragglers"
        return headed(
            f"{name}{among}",
            f"{took}, and would take {even} if every rank worked at the others' "
            f"speed (slowdown {facts.slowdown:.2f}; below {1 / (1 - NOTABLE):.2f} it "
            "is noise).",
        )
    heading = f"Slowdown {facts.slowdown:.2f}{among}"
    if is_slow_by_transfers(job):
        return headed(
            heading,
            f"{took}. Transfers are the reason: if each took what others of its name "
            f"and size usually take, it would take {even}. With every rank at the "
            f"others' speed it would still take {time_text(facts.even_ranks_us)}.",
        )
    gain = time_text(facts.replayed_us - facts.even_ranks_us)
    return headed(
        heading,
        f"{took}. If every rank worked at the others' speed, it would take "
        f"{time_text(facts.even_ranks_us)}, {gain} less.",
    )


def among_text(job: JobData) -> str:
    """Write which ranks a verdict is on, if not on all: `` among the 2 of 4 ranks
    available``."""
    facts = job.facts
    if not facts.missing and not facts.unjoined:
        return ""
    joined = facts.ranks - len(facts.unjoined)
    every = facts.world_size or facts.ranks + len(facts.missing)
    return f" among the {joined} of {every} ranks available"


def is_slow_by_transfers(job: JobData) -> bool:
    """Tell whether more is lost by transfers that take long than by ranks."""
    return job.answer.verdict == "transfers"


def late_ranks_name(job: JobData) -> str:
    """Write the late ranks: ``rank 3``, ``ranks 0, 2 and 6``."""
    numbers = [str(one.rank) for one in job.late_ranks]
    if not numbers[1:]:
        return f"rank {numbers[0]}"
    return f"ranks {', '.join(numbers[:-1])} and {numbers[-1]}"


def look_closer(job: JobData) -> tuple[int, str]:
    """Return the rank to look at first, that of the costliest cause or else the one
    that others waited for most, and how to see its report."""
    causes = notable_causes(job)
    worst = max(job.ranks, key=lambda row: row.caused_us)
    of_cause = [row for row in job.ranks if causes and row.rank == causes[0].rank]
    row = of_cause[0] if of_cause else worst
    if sum(other.path == row.path for other in job.ranks) > 1:  # A merged file.
        how = f"torchtraceap.analyze([{row.path!r}]).rank({row.rank}) in Python"
    else:
        how = f"torchtraceap analyze {shlex.quote(row.path)}"
    return row.rank, printable(how)


def decode_texts(job: JobData) -> list[str]:
    """Write who is late in the decode steps of a serving engine, unless the verdict
    names that rank."""
    of_answer = (row.index for row in job.answer.rows if row.of == "decode_skew")
    skews = (job.decode_skew[index] for index in of_answer)
    return [_decode_text(skew, skew.ranks == job.facts.ranks) for skew in skews]


def _decode_text(skew: DecodeSkew, is_all: bool) -> str:
    cost = (
        f"{time_text(skew.step_wait_us)} in each, {share_text(skew.share, 1)} of the "
        "steps' device time"
    )
    group = "" if is_all else " " + ", ".join(map(str, skew.members))
    if skew.rank is None:
        return (
            f"Ranks{group} wait for each other in {skew.kind} steps, {cost}: none "
            f"comes last in most of the {skew.steps:,}."
        )
    of = "" if is_all else f" of ranks{group}"
    others = f"the other{of} waits" if skew.ranks == 2 else f"the others{of} wait"
    return (
        f"Rank {skew.rank} is late in {skew.kind} steps: it comes last in "
        f"{skew.last:,} of {skew.steps:,}, and {others} {cost}."
    )


def late_ranks_text(job: JobData) -> str:
    """Write which ranks are late, how often, and what their speed would gain; "" if
    none stand out, or one whose cause is known."""
    late = job.late_ranks
    if not late or not is_slowed(job) or is_slow_by_transfers(job):
        return ""
    facts = job.facts
    rows = {row.rank: row for row in job.ranks}
    times = sum(rows[one.rank].last for one in late)
    share = share_text(sum(one.caused_us for one in late), facts.waited_us)
    turn, come = (", in turn", "They come") if late[1:] else ("", "It comes")
    text = (
        f"{late_ranks_name(job)}{turn}. {come} "
        f"last in {times:,} of {counted(facts.joined_collectives, 'collective')}, and "
        f"{share} of the {together_text(facts.waited_us, on_gpus(job))} that ranks "
        f"waited was for {'them' if late[1:] else 'it'}."
    )
    gain_us = facts.late_gain_us or 0.0
    if late[1:] and gain_us >= NOTABLE * facts.replayed_us:
        alone = max((one.gain_us or 0.0 for one in late), default=0.0)
        together = range_text(facts.late_gain_low_us, gain_us, facts.late_gain_high_us)
        text += (
            f" Replayed at the others' speed, together they gain {together} of "
            f"{step_text(job)}; alone, at most {time_text(alone)}."
        )
    return headed("Who is late", text)


def late_rank_text(late: LateRank, job: JobData) -> str:
    """Write why a rank is late: its share, its host's part, its own finding."""
    gpus = on_gpus(job)
    parts = [f"for its host {share_text(late.host_share, 1)}"]
    if late.unexplained_share >= 0.005:
        parts.append(f"unexplained {share_text(late.unexplained_share, 1)}")
    text = (
        f"rank {late.rank}: others waited {together_text(late.caused_us, gpus)} for it "
        f"({', '.join(parts)})."
    )
    if late.finding is None:
        return text
    found = printable(late.finding.message)
    return f"{text} {late.finding.kind}: {found}"


def shared_text(job: JobData) -> str:
    """Write what most ranks have in common; "" if nothing."""
    parts = []
    for one in job.shared:
        least, most = share_text(one.least, 1), share_text(one.most, 1)
        between = f" ({least} to {most})" if least != most else ""
        parts.append(
            f"{one.pattern} on {one.ranks} of {counted(one.of, 'rank')}, "
            f"{share_text(one.share, 1)} of their time{between}"
        )
    return headed("In common", f"{'; '.join(parts)}.") if parts else ""


def job_fact_texts(job: JobData) -> Iterator[str]:
    """Describe the job: ranks, steps, devices, hosts, recording."""
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
    """Describe the accuracy of the figures, and what they do not cover."""
    facts = job.facts
    if not facts.joined_collectives:
        return
    yield headed(
        "Clocks",
        "aligned so that collectives end at the same time on all ranks. For the worst "
        f"rank they end within {time_text(facts.clock_residual_us)} of the others' "
        "(median). Shorter waits are within this error.",
    )
    yield headed(
        "Replay",
        f"that of the unchanged job is {share_text(facts.replay_error, 1)} off the "
        "recording.",
    )
    unknown = []
    if facts.unmatched:
        unknown.append(f"{counted(facts.unmatched, 'collective')} of a single rank")
    if facts.contradicted:
        unknown.append(
            f"{facts.contradicted:,} whose ranks were not in it at the same time"
        )
    if unknown:
        yield headed("Not joined", f"{' and '.join(unknown)}.")
