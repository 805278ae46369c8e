# SPDX-License-Identifier: BSD-3-Clause
"""test_simulation.py: simulated CUDA timelines: what they cost and what is written."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")

import origins
import runs
from simulation import conditions, profiles
from simulation.cause_table import DISTRIBUTED, MECHANISMS
from simulation.distributing import arrivals_of, with_collectives
from simulation.drawing import Put
from simulation.items import Item, Steps
from simulation.lowering import Lowering
from simulation.making import kernel_item
from simulation.making_runs import Maker
from simulation.plans import plans_of
from simulation.programs import Programs
from simulation.truths import Timed, moments, saved
from simulation.views import View

import torchtraceap

pytestmark = pytest.mark.verify

PROGRAM = "zero_grad_fill.recommender"
#: Of these, more is taken out than was put in, or something is left in its place.
TAKEN_OUT_OTHERWISE = ("launch_bound", "sync_stall", "tensor_core_unused",
                       "fusible_chain", "comm_exposed", "pageable_copy")  # fmt: skip


def drawn(**changes) -> conditions.Conditions:
    recording = conditions.Recording(True, True, True, 1)
    found = replace(conditions.draw(random.Random(3)), recording=recording, speed=1.0,
                    device_speed=1.0, first_step=1.0, steps=3)  # fmt: skip
    return replace(found, **changes)


def program(us: float, kernels: int = 60, steps: int = 3) -> Steps:
    """Make steps of equal kernels, forward, backward and in the optimizer."""
    phases = ("forward", "backward", "optimizer")
    step = [
        kernel_item(f"{phase}{k}", "aten::mul", "elementwise", 1 << 16, us=us,
                    phase=phase,
                    outer=("node", "MulBackward0") if phase == "backward" else ())
        for phase in phases for k in range(kernels // 3)
    ]  # fmt: skip
    return Steps([list(step) for _ in range(steps)])


def put(mechanism, strength: float, *, null: bool = False) -> Put:
    return Put(mechanism, strength, null, False, 7, "cause")


def test_what_is_taken_out_leaves_no_trace_in_the_schedule():
    lowering = Lowering(drawn())
    steps = program(30.0)
    plain = Timed.of(lowering.lower(steps))
    again = Timed.of(Lowering(drawn()).lower(steps.copy()))
    assert plain.span == again.span
    assert (moments(plain, again)[0] == moments(plain, again)[1]).all()


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: f"{m.pattern}-{m.name}")
def test_every_mechanism_costs_what_it_should(mechanism):
    lowering = Lowering(drawn())
    # Half a millisecond of the host a step, and twice that of the device.
    base = program(150.0)
    clean = Timed.of(lowering.lower(base))
    step_us = clean.span / 3000

    def cost(strength: float, null: bool) -> float:
        steps = base.copy()
        put(mechanism, strength, null=null).apply(steps, step_us)
        return saved(Timed.of(lowering.lower(steps)), clean)

    assert cost(1.0, null=False) > 0.05 or mechanism.pattern == "launch_bound"
    assert abs(cost(1.0, null=True)) < 0.05


@pytest.mark.parametrize("mechanism", DISTRIBUTED, ids=lambda m: m.name)
def test_collectives_cost_only_when_put_badly(mechanism):
    c = drawn(gpu="A100")
    lowering = Lowering(c)
    step = with_collectives(program(100.0).steps[0], (50_000_000,), c.device)
    base = Steps([list(step) for _ in range(3)])
    arrivals = arrivals_of(lowering, base)
    clean = Timed.of(lowering.lower(base, arrivals=arrivals))

    def cost(null: bool) -> float:
        steps = base.copy()
        put(mechanism, 1.0, null=null).apply(steps, clean.span / 3000)
        return saved(Timed.of(lowering.lower(steps, arrivals=arrivals)), clean)

    assert cost(null=False) > 0.05
    assert abs(cost(null=True)) < 0.05


def test_a_wait_costs_nothing_where_the_device_is_idle_anyway():
    lowering = Lowering(drawn())
    busy, idle = program(400.0), program(1.0)
    for steps, least, most in ((busy, 0.0, 1.0), (idle, 0.0, 0.35)):
        with_waits = steps.copy()
        put(MECHANISMS[0], 0.5).apply(with_waits, 1000.0)
        cost = saved(
            Timed.of(lowering.lower(with_waits)), Timed.of(lowering.lower(steps))
        )
        assert least < cost < most


def test_a_graph_frees_the_host_alone():
    lowering = Lowering(drawn())
    slow = Timed.of(lowering.lower(program(1.0)))
    fast = Timed.of(lowering.lower(program(1.0), View(captured=True)))
    assert fast.span < 0.3 * slow.span
    full = Timed.of(lowering.lower(program(2000.0)))
    held = Timed.of(lowering.lower(program(2000.0), View(captured=True)))
    assert saved(full, held) < 0.02


def test_moments_keep_what_is_saved_where():
    lowering = Lowering(drawn())
    base = program(20.0)
    paused = base.copy()
    pause = Item("pause", "pause", "", us=50_000.0, captured=False)
    paused.steps[1].append(pause)
    before = Timed.of(lowering.lower(paused))
    found = moments(before, Timed.of(lowering.lower(base)))
    assert (np.diff(found) >= 0).all()
    shift = found[0] - found[1]
    assert shift[0] == 0
    assert shift[-1] == pytest.approx(50e6, rel=0.2)
    # The first step is as it was, the last as late as the pause is long.
    ends = np.interp([0.25, 0.9], found[1] / found[1, -1], shift)
    assert ends[0] == 0
    assert ends[1] == pytest.approx(50e6, rel=0.2)


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    return Programs(tmp_path_factory.mktemp("programs"), frozenset((PROGRAM,)))


@pytest.fixture(scope="module")
def corpus(programs, tmp_path_factory):
    out = tmp_path_factory.mktemp("corpus")
    maker = Maker(programs, out)
    for number in range(6):
        list(maker.make(plans_of(programs, 5, number)))
    return out


def test_a_twin_without_its_only_cause_is_the_other_twin(corpus):
    found = {run.name: run for run in runs.read(corpus)}
    assert len(found) >= 6
    pairs = 0
    for run in found.values():
        put_in = [cause for cause in run.causes if not cause.natural]
        if run.role != "slow" or len(put_in) != 1:
            continue
        fixed = runs.read_truth(corpus, run.twin)
        slow = runs.read_truth(corpus, run.name)
        if put_in[0].pattern in TAKEN_OUT_OTHERWISE:
            continue
        if any(c.pattern == put_in[0].pattern and c.natural for c in run.causes):
            continue
        pairs += 1
        ends = slow[put_in[0].pattern, 0][1, -1], fixed[runs.ALL, 0][0, -1]
        assert ends[0] == ends[1]
        assert found[run.twin].group == run.group
    assert pairs


def test_what_is_written_reads_like_a_recording(corpus):
    for run in runs.read(corpus):
        report = torchtraceap.analyze(runs.trace_path(corpus, run.name))
        trace = torchtraceap.load(runs.trace_path(corpus, run.name))
        assert not trace.warnings
        assert json.loads(trace.metadata["torchtraceap"])["simulated"] is True
        assert report.windows
        assert not report.core_replay[0].refusal
        names = [trace.category_names[i] for i in trace.columns["category"]]
        assert ("python_function" in names) == run.recording["recording"]["stacks"]
        args = trace.read_args([names.index("kernel")])[0]
        assert {"grid", "block", "registers per thread"} <= json.loads(args).keys()
        assert sum(cause.null for cause in run.causes) <= len(run.causes)


def test_who_starts_again_draws_the_same(programs, corpus):
    for number in range(6):
        plans = plans_of(programs, 5, number)
        assert plans == plans_of(programs, 5, number)
        assert all(runs.exists(corpus, plan.name) for plan in plans)


def test_host_times_come_from_origins_that_may_be_learned_from():
    for one in profiles.measured()["traces"].values():
        assert not origins.held_out(one["origin"])
