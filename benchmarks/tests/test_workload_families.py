# SPDX-License-Identifier: BSD-3-Clause
"""test_workload_families.py: the model families, on the CPU and in dry runs."""

from __future__ import annotations

from collections import Counter

import pytest

torch = pytest.importorskip("torch")

import torchtraceap
from benchmarks.lab.corpus.workloads.families import FAMILIES, SCALES, TASKS, Family
from benchmarks.lab.corpus.workloads.training import Lab, Training

pytestmark = pytest.mark.verify


def lab(family: str) -> Lab:
    return Lab(torch.device("cpu"), FAMILIES[family], "cpu", seed=3)


def test_there_are_families_of_every_task_at_every_scale() -> None:
    training = [family for family in FAMILIES.values() if family.trains]
    tasks = Counter(family.task for family in training)
    assert len(training) >= 24
    assert set(tasks) == set(TASKS)
    assert min(tasks.values()) >= 3
    assert {f.task for f in FAMILIES.values() if not f.trains} == set(TASKS)
    for name, family in FAMILIES.items():
        assert family.name == name
        assert set(family.configs) == set(SCALES)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.name)
def test_family_repeats_itself_and_learns(family: Family) -> None:
    first, second = Training(lab(family.name)), Training(lab(family.name))
    start = [p.detach().clone() for p in first.model.parameters()]
    losses = torch.stack([first.step() for _ in range(3)])
    assert torch.equal(losses, torch.stack([second.step() for _ in range(3)]))
    assert losses.shape == (3, family.configs["cpu"]["batch"])
    assert losses.isfinite().all()
    moved = [
        not torch.equal(p, before)
        for p, before in zip(first.model.parameters(), start, strict=True)
    ]
    assert all(moved) if family.trains else not any(moved)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.name)
def test_samples_do_not_mix(family: Family) -> None:
    run = Training(lab(family.name))
    *inputs, source, target = run.fetch()
    with torch.no_grad():
        outputs = run.model(*inputs)
        together = family.losses(outputs, target)
        alone = [
            family.losses(run.model(*(part[i : i + 1] for part in inputs)), one)
            for i, one in enumerate(target.split(1))
        ]
    assert outputs.dim() >= 2
    assert len(outputs) == len(source)
    torch.testing.assert_close(torch.cat(alone), together, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.name)
def test_step_waits_for_nothing(family: Family) -> None:
    with torchtraceap.dry_run() as run:
        training = Training(Lab(torch.device("cuda"), family, "cpu", seed=3))
        run.step()
        for _ in range(2):
            training.step()
            run.step()
    assert run.ops
    assert not [sync for sync in run.syncs if sync.step > 0]


@pytest.mark.parametrize("name", ["vit", "ssd", "unet", "lstm", "stereo", "joints"])
def test_family_of_each_task_runs_dry_at_full_size(name: str) -> None:
    with torchtraceap.dry_run() as run:
        training = Training(Lab(torch.device("cuda"), FAMILIES[name], "cuda", seed=3))
        training.step()
        run.step()
    assert run.peak_bytes < 16e9
