# SPDX-License-Identifier: BSD-3-Clause
"""test_simulation.py: simulated CUDA timelines: their costs and their traces."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")

import torchtraceap
from benchmarks.lab.corpus import origins, runs
from benchmarks.lab.corpus.perturbation.table import MECHANISMS as PERTURBED
from benchmarks.lab.corpus.simulation import conditions, profiles
from benchmarks.lab.corpus.simulation.inserting import kernel_item
from benchmarks.lab.corpus.simulation.items import Item, Steps
from benchmarks.lab.corpus.simulation.launching import View
from benchmarks.lab.corpus.simulation.lowering import Lowering
from benchmarks.lab.corpus.simulation.making_runs import (
    _REWRITTEN,
    Maker,
    Timed,
    arrivals_of,
    moments,
    saved,
    with_collectives,
)
from benchmarks.lab.corpus.simulation.plans import (
    DISTRIBUTED,
    MECHANISMS,
    Put,
    plans_of,
)
from benchmarks.lab.corpus.simulation.programs import Programs, launch_us
from benchmarks.lab.corpus.workloads.pairs import PAIRS
from torchtraceap_dryrun.estimate.gpus import GPUS
from torchtraceap_dryrun.estimate.launch import Launch
from torchtraceap_dryrun.record import Copy

pytestmark = pytest.mark.verify

PROGRAM = "zero_grad_fill.recommender"
FP32 = next(one for one in MECHANISMS if one.name == "fp32_everywhere")
#: Of these, more is taken out than was put in, or something is left in its place.
TAKEN_OUT_OTHERWISE = ("launch_bound", "sync_stall", "tensor_core_unused",
                       "fusible_chain", "comm_exposed", "exposed_copy",
                       "small_grid", *_REWRITTEN)  # fmt: skip


def drawn(**changes) -> conditions.Conditions:
    recording = conditions.Recording(True, True, True, 1, 1)
    found = replace(conditions.draw(random.Random(3)), recording=recording, speed=1.0,
                    device_speed=1.0, first_step=1.0, steps=3, gpu="A100",
                    host="v100x2-nccl-rank1of2-test", tensor_cores=True)  # fmt: skip
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


def with_products(steps: Steps, work: str, dtype: str) -> Steps:
    """Replace every other kernel by a product of 200 us on an A100."""
    launch = Launch("aten::mm", work, dtype, 2e10, 1e7, 256)
    us = launch_us(launch, GPUS["A100"])
    made = [
        replace(item, name="aten::mm", launches=((launch, us),)) if i % 2 else item
        for i, item in enumerate(steps.steps[0])
    ]
    return Steps([list(made) for _ in steps.steps])


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
    # Late launches cost a device that is faster than its host.
    late = mechanism.pattern == "launch_bound"
    base = program(1.0, 120) if late else program(150.0)
    if mechanism.pattern == "tensor_core_unused":
        base = with_products(base, "gemm", "tf32")
    step_us = Timed.of(lowering.lower(base)).span / 3000

    def cost(strength: float, null: bool) -> float:
        with_it, without = base.copy(), base.copy()
        put(mechanism, strength, null=null).apply(with_it, step_us)
        if mechanism.pattern in _REWRITTEN:
            put(mechanism, strength, null=null).apply(without, step_us, fixed=True)
        return saved(*(Timed.of(lowering.lower(steps)) for steps in (with_it, without)))

    assert cost(1.0, null=False) > 0.05
    # The smallest product is the one to touch; here all are of one size.
    least = 0.08 if mechanism.pattern == "tensor_core_unused" else 0.02
    assert abs(cost(1.0, null=True)) < least


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


def test_products_of_odd_sizes_are_as_fast_as_even_ones_in_their_view():
    lowering = Lowering(drawn(gpu="A100"))
    odd = with_products(program(20.0), "gemm_unaligned", "float16")
    even = with_products(program(20.0), "gemm", "float16")
    # Both launches have the same name, so all else is as long.
    spans = [
        Timed.of(lowering.lower(steps, view)).span
        for steps, view in ((odd, View()), (odd, View(aligned=True)), (even, View()))
    ]
    assert spans[0] > 1.05 * spans[2]
    assert spans[1] == pytest.approx(spans[2], rel=1e-3)


def test_what_is_put_in_fp32_stays_so_in_a_program_that_is_not():
    lowering = Lowering(drawn(gpu="A100"))
    steps = with_products(program(20.0), "gemm", "float32")
    plain = View(tensor_cores=True)
    fast = Timed.of(lowering.lower(steps, plain))
    put(FP32, 1.0).apply(steps, 1000.0)
    slow = Timed.of(lowering.lower(steps, plain))
    assert slow.span > 1.5 * fast.span


def test_kernels_of_few_blocks_are_as_fast_as_the_device_is_large():
    c = drawn(gpu="A100")
    lowering = Lowering(c)
    grids = (27, 54, 108, 216)
    steps = [
        Steps([[kernel_item("a", "aten::cumsum", "scan", 1 << 14, us=4000.0, grid=n)]])
        for n in grids
    ]
    spans = [
        [
            Timed.of(lowering.lower(one, view)).span
            for view in (View(), View(filled=True))
        ]
        for one in steps
    ]
    # An A100 has 108 multiprocessors.
    shares = [filled / plain for plain, filled in spans]
    assert shares == pytest.approx([0.25, 0.5, 1.0, 1.0], abs=0.03)
    # What a kernel takes to start is all that the smallest take.
    tiny = Steps([[kernel_item("a", "aten::cumsum", "scan", 64, us=3.0, grid=1)]])
    both = [Timed.of(lowering.lower(tiny, v)).span for v in (View(), View(filled=True))]
    assert both[0] == both[1]


def test_copies_cost_nothing_where_they_are_beside_the_work():
    lowering = Lowering(drawn(gpu="A100"))
    base = program(150.0)
    steps = base.copy()
    copies = [
        Item(f"{way}{size}", "op", "aten::copy_", copy=Copy(way, size, True, False))
        for way, size in (("h2d", 20_000_000), ("d2h", 30_000_000), ("d2d", 4_000_000))
    ]
    for step in steps.steps:
        step.extend(copies)
    spans = [
        Timed.of(lowering.lower(*one)).span
        for one in ((base,), (steps,), (steps, View(copied=True)))
    ]
    # 50 MB over a link of 25 GB/s; copies on the device stay.
    assert spans[1] - spans[2] == pytest.approx(3 * 2e6, rel=0.4)
    assert spans[0] < spans[2] < 1.02 * spans[0]


def test_a_mechanism_has_one_name_in_all_sources():
    simulated = {(one.pattern, one.name) for one in (*MECHANISMS, *DISTRIBUTED)}
    perturbed = {(p, name) for p, ways in PERTURBED.items() for name in ways}
    recorded = {(pair.pattern, pair.mechanism or pair.name) for pair in PAIRS}
    shared = simulated & perturbed & recorded
    assert shared >= {
        ("sync_stall", "item"), ("sync_stall", "device_synchronize"),
        ("dataloader_bound", "no_workers"), ("gc_pause", "collect_each_step"),
        ("host_bound_python", "log_text"), ("frequent_memcpy", "small_uploads"),
        ("pageable_copy", "batch_upload"), ("unfused_optimizer", "single_tensor"),
        ("redundant_d2d", "cast"), ("redundant_d2d", "clone"),
    }  # fmt: skip


def test_patterns_that_a_gpu_shows_come_about_in_three_ways():
    ways: dict[str, set[str]] = {}
    for one in (*MECHANISMS, *DISTRIBUTED):
        ways.setdefault(one.pattern, set()).add(one.name)
    assert all(len(names) >= 3 for names in ways.values())
    assert ways.keys() >= {"exposed_copy", "tensor_core_unused", "misaligned_gemm",
                           "unfused_attention", "launch_bound"}  # fmt: skip


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


def test_runs_tell_what_is_not_known_of_them(corpus):
    for run in runs.read(corpus):
        assert {"fusible_chain", "redundant_d2d"} < set(run.unknown)
        by_pattern = {cause.pattern: cause for cause in run.causes}
        assert "missed_cuda_graph" in by_pattern["launch_bound"].also
        assert (run.role == "null") == (
            all(c.null for c in run.causes if not c.natural)
            and any(c.null for c in run.causes)
        )


def test_a_dry_run_that_was_stopped_is_done_again(programs, tmp_path, monkeypatch):
    made = Programs(tmp_path, frozenset((PROGRAM,)))
    monkeypatch.setattr(
        "benchmarks.lab.corpus.simulation.programs.pickle.dumps",
        lambda found: b"half of it"[: 1 // 0],
    )
    with pytest.raises(ZeroDivisionError):
        made.recorded(PROGRAM, "fixed")
    assert not list(tmp_path.glob("*.pickle"))


def test_what_is_written_reads_like_a_recording(corpus):
    for run in runs.read(corpus):
        report = torchtraceap.analyze(runs.trace_path(corpus, run.name))
        trace = torchtraceap.load(runs.trace_path(corpus, run.name))
        assert not trace.warnings
        assert json.loads(trace.metadata["torchtraceap"])["simulated"] is True
        assert report.windows
        assert not report.core_replay.refusal
        names = [trace.category_names[i] for i in trace.columns["category"]]
        assert ("python_function" in names) == run.recording["recording"]["stacks"]
        args = trace.read_args([names.index("kernel")])[0]
        assert {"grid", "block", "registers per thread"} <= json.loads(args).keys()


def test_who_starts_again_draws_the_same(programs, corpus):
    for number in range(6):
        plans = plans_of(programs, 5, number)
        assert plans == plans_of(programs, 5, number)
        assert all(runs.exists(corpus, plan.name) for plan in plans)


def test_host_times_come_from_origins_that_may_be_learned_from():
    for one in profiles.measured()["traces"].values():
        assert not origins.held_out(one["origin"])
