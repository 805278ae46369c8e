# SPDX-License-Identifier: BSD-3-Clause
"""session.py: one start of the program over one output folder.

All timing comes before all recording (measure.py says why), each most valuable
first. After every case the folder is complete as it stands: the program may be
killed at any moment and started again.
"""

from __future__ import annotations

import functools
import gc
import os
import time
import traceback
from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

import torch

from benchmarks.lab.corpus.manifest import Manifest
from benchmarks.lab.corpus.measure import PROTOCOLS, measure, protocol_facts
from benchmarks.lab.corpus.provenance import identity, run_facts
from benchmarks.lab.corpus.recording import record
from benchmarks.lab.corpus.workloads.pairs import Case, Pair, causes
from benchmarks.lab.corpus.workloads.training import Lab

TIMING_SHARE = 0.5  # Of the budget; the rest is for recording what was timed.
EXPORT_S = 5  # What writing and packing two traces may take on top of running them.


class Session:
    """Times and records cases until the work, the time or the space ends."""

    def __init__(self, options: Namespace, begun: float) -> None:
        """Open ``options.out``; raises what ``Manifest`` raises.

        ``begun`` is the ``time.monotonic()`` from which the budget counts.
        """
        self.options = options
        self.begun = begun
        self.device = torch.device(options.device)
        self.protocol = PROTOCOLS[options.device]
        self.manifest = Manifest(
            options.out, identity(self.device, options.device, options.seed)
        )
        self.run: dict[str, Any] = run_facts() | {"options": shaping(options)}
        self.manifest.data["runs"].append(self.run)
        self.number = len(self.manifest.data["runs"]) - 1

    def work(self, chosen: Sequence[Case]) -> dict[str, int]:
        """Do what is missing of ``chosen``; returns how many cases are in each state.

        The states are the manifest's, and ``left`` for what there was no time for.
        """
        self.manifest.data["protocol"] = protocol_facts(self.protocol)
        for pair in dict.fromkeys(case.pair for case in chosen):
            self.manifest.data["pairs"][pair.name] = described(pair)
        self.each(chosen, ("left", "failed", "skipped"), self.time_twins)
        # CUPTI stays attached between recordings: detaching and attaching again in
        # quick succession has raced in some versions, and nothing is timed any more.
        os.environ.setdefault("TEARDOWN_CUPTI", "0")
        self.each(chosen, ("timed",), self.record_twins)
        states = [self.state(case) for case in chosen]
        # What is timed and not recorded has to be taken up again as well.
        counts = {
            "recorded": states.count("recorded"),
            "skipped": states.count("skipped"),
            "failed": states.count("failed"),
            "left": states.count("left") + states.count("timed"),
        }
        self.run["stopped"] = "out of time" if counts["left"] else "finished"
        self.run["seconds"] = round(self.seconds(), 1)
        self.manifest.save()
        return counts

    def seconds(self) -> float:
        return time.monotonic() - self.begun

    def state(self, case: Case) -> str:
        return str(self.manifest.cases.get(case.name, {}).get("status", "left"))

    def affordable(self, case: Case) -> bool:
        """Tell whether ``case`` may be taken one state further in the time left.

        Timing has a soft limit, as it takes an unknown time. Recording has a hard
        one: it takes no longer than timing did, which compiled and ran the same.
        """
        budget: float = 60 * self.options.minutes
        if self.state(case) != "timed":
            return self.seconds() < budget * TIMING_SHARE
        expected: float = self.manifest.cases[case.name]["timing_s"] + EXPORT_S
        return self.seconds() + expected < budget

    def each(
        self,
        chosen: Sequence[Case],
        states: Sequence[str],
        action: Callable[[Case], str],
    ) -> None:
        """Run ``action`` on every affordable case in one of ``states``.

        What it raises becomes the case's ``reason``, and the next case is begun.
        """
        for case in chosen:
            if self.state(case) not in states or not self.affordable(case):
                continue
            try:
                line = action(case)
            except Exception as error:
                traceback.print_exc()
                line = self.put(case, "failed", f"{type(error).__name__}: {error}")
            self.manifest.save()
            gc.collect()
            if self.device.type == "cuda":
                torch.cuda.empty_cache()
            print(f"{self.seconds():6.1f} s  {case.name}: {line}", flush=True)

    def put(self, case: Case, status: str, reason: str = "", **more: Any) -> str:
        """Write what is now known of ``case``; returns a line that says so."""
        known = {"pair": case.pair.name, "family": case.family.name}
        known |= self.manifest.cases.get(case.name, {})
        known.pop("reason", None)
        known |= more | {"status": status} | ({"reason": reason} if reason else {})
        self.manifest.cases[case.name] = known
        return f"{status}: {reason}" if reason else status

    def time_twins(self, case: Case) -> str:
        """Check and time a case: ``timed``, or ``skipped`` if it cannot run here."""
        known = self.manifest.cases.get(case.name, {})
        if known.get("refused_at_mb", 0) >= self.options.max_mb:
            return self.put(case, "skipped", known["reason"])
        if lacking := missing(case.pair, self.device):
            return self.put(case, "skipped", lacking)
        start, lab = self.seconds(), self.lab(case)
        result = measure(case.pair, lab, self.protocol)
        self.put(
            case,
            "timed",
            model=dict(lab.config),
            **result,
            timing_s=round(self.seconds() - start, 1),
            timed_in_run=self.number,
        )
        slow, fixed = result["slow"]["median_ms"], result["fixed"]["median_ms"]
        saving = f"saves {result['saving']:.0%} ({result['label']})"
        return f"slow {slow:.3f} ms, fixed {fixed:.3f} ms, {saving}"

    def record_twins(self, case: Case) -> str:
        """Record a case and store its two traces together, or neither."""
        lab, known = self.lab(case), self.manifest.cases[case.name]
        traces: dict[str, bytes] = {}
        facts: dict[str, dict[str, Any]] = {}
        for side, build in (("slow", case.pair.slow), ("fixed", case.pair.fixed)):
            with closing(build(lab)) as run:
                recording = record(run, self.protocol)
            member = f"{case.name}.{side}.json.gz"
            traces[member] = recording.data
            facts[side] = {"member": member} | recording.facts
        megabytes = sum(map(len, traces.values())) / 1e6
        limit = self.options.max_mb
        archive = self.manifest.store(traces, int(limit * 1e6))
        if archive is None:
            reason = f"no room for {megabytes:.2f} MB of traces within {limit:g} MB"
            return self.put(case, "skipped", reason, refused_at_mb=limit)
        sides = {
            side: known[side] | {"trace": {"archive": archive} | facts[side]}
            for side in facts
        }
        self.put(case, "recorded", **sides, recorded_in_run=self.number)
        return f"{megabytes:.2f} MB into {archive}"

    def lab(self, case: Case) -> Lab:
        return Lab(self.device, case.family, self.options.device, self.options.seed)


def missing(pair: Pair, device: torch.device) -> str | None:
    """Say why ``pair`` cannot run on ``device``, or None if it can."""
    if pair.needs in ("cpu", "cuda") and device.type != pair.needs:
        return pair.reason
    if pair.needs == "compiler" and (error := compiler_error(device)):
        return f"{pair.reason}: {error}"
    return None


@functools.cache
def compiler_error(device: torch.device) -> str | None:
    """Compile one line for ``device``; returns the error's first line if it fails."""
    try:
        torch.compile(lambda x: x.sin() + 1)(torch.ones(8, device=device))
    except Exception as error:
        return f"{type(error).__name__}: {error}".partition("\n")[0]
    finally:
        torch.compiler.reset()
    return None


def described(pair: Pair) -> dict[str, Any]:
    """Tell what the manifest keeps of a pair."""
    return {
        "pattern": pair.pattern,
        "also": list(pair.also),
        "slow": (pair.slow.__doc__ or "").partition("\n")[0],
        "fixed": (pair.fixed.__doc__ or "").partition("\n")[0],
        "why_here": pair.why,
        "cause": causes(pair),
    }


def shaping(options: Namespace) -> dict[str, Any]:
    """Keep the options that shape the result, without its location."""
    return {k: v for k, v in vars(options).items() if k not in ("out", "list")}
