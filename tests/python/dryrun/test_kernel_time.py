# SPDX-License-Identifier: BSD-3-Clause
"""test_kernel_time.py: estimated times: worked out by hand, and beside real traces."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from torchtraceap import _core
from torchtraceap_dryrun.estimate.gpus import GPUS, gpu
from torchtraceap_dryrun.estimate.kernel_time import (
    CLASSES,
    FLOOR_US,
    copy_us,
    kernel_us,
)
from torchtraceap_dryrun.estimate.launch import Launch
from torchtraceap_dryrun.facade.device_properties import properties_of
from torchtraceap_dryrun.record import Copy

ROOT = Path(__file__).resolve().parents[3]

H100 = gpu("H100 SXM")


def launch(work: str, flops: float = 0.0, nbytes: float = 0.0, **more: int) -> Launch:
    return Launch("x", work, "bfloat16", flops, nbytes, **more)


def test_by_hand() -> None:
    # 6 µs, and 989.5 TFLOP/s at 0.7: 1e12 FLOP are 1443.7 µs.
    assert kernel_us(launch("gemm", 1e12), H100) == pytest.approx(6 + 1443.7, abs=0.1)
    # Memory decides: 3.35 TB/s at 0.5, 1 GB is 597.0 µs.
    assert kernel_us(launch("gemm", 1e9, 1e9), H100) == pytest.approx(603.0, abs=0.1)
    # 1.5 µs, and 3.35 TB/s at 0.9.
    said = kernel_us(launch("elementwise", nbytes=3.015e9), H100)
    assert said == pytest.approx(1001.5)


def test_starts_grow_as_clocks_are_slower() -> None:
    small = launch("elementwise")
    # 1.98 GHz beside 1.53 GHz; V100 traces in nanoseconds have 1.95 µs.
    assert kernel_us(small, gpu("V100")) == pytest.approx(1.5 * 1.98 / 1.53)


def test_blocks_cost_by_multiprocessor() -> None:
    few = kernel_us(launch("attention", blocks=10), H100)
    one_wave = kernel_us(launch("attention", blocks=132), H100)
    two = kernel_us(launch("attention", blocks=264), H100)
    assert few == one_wave < two
    assert two - one_wave == pytest.approx(CLASSES["attention"].block_us)


def test_a_last_wave_takes_as_long_as_a_full_one() -> None:
    work = dict(flops=1e10, blocks=0)
    full = kernel_us(launch("conv_image", **work | {"blocks": 132}), H100)
    part = kernel_us(launch("conv_image", **work | {"blocks": 66}), H100)
    start = CLASSES["conv_image"].start_us
    assert part - start == pytest.approx(2 * (full - start))


@pytest.mark.parametrize("work", CLASSES)
@pytest.mark.parametrize("name", GPUS)
def test_more_work_takes_longer_and_none_is_below_the_floor(
    work: str, name: str
) -> None:
    device = GPUS[name]
    times = [kernel_us(launch(work, nbytes=10.0**n), device) for n in range(12)]
    assert times == sorted(times)
    assert times[-1] > 10 * times[0]
    assert times[0] >= FLOOR_US
    times = [kernel_us(launch(work, flops=10.0**n), device) for n in range(16)]
    assert times == sorted(times)


def test_what_a_gpu_has_no_hardware_for_runs_as_float32() -> None:
    v100 = gpu("V100")
    for kind in ("tf32", "bfloat16", "complex64"):
        assert v100.peak(kind) == v100.flops["float32"]
    assert gpu("A100").peak("tf32") == 8 * gpu("A100").flops["float32"]


def test_rules_judge_by_the_same_rates() -> None:
    """A dry run "as on an A100" is made of the rates that its trace is judged by."""
    rows = {row.name: row for row in _core.gpus() if row.name}
    assert list(rows) == list(GPUS)
    assert rows["A100"].bandwidth_gb_s == 2039
    for name, device in GPUS.items():
        assert device.bandwidth_bytes_per_s == rows[name].bandwidth_gb_s * 1e9
        assert device.flops["float32"] == rows[name].peak_teraflops["float32"] * 1e12
        assert properties_of(device).name == rows[name].driver_name


def test_gpus_by_name() -> None:
    assert gpu("h100") is gpu("H100 SXM") is GPUS["H100 SXM"]
    assert gpu(" rtx  4090") is gpu("4090")
    assert gpu("A100").bandwidth_bytes_per_s > gpu("A100 40GB").bandwidth_bytes_per_s
    with pytest.raises(ValueError, match=r"no GPU 'TPU'; known are T4, V100"):
        gpu("TPU")


def test_data_sheets_agree_with_clocks() -> None:
    # Peak float32 = multiprocessors x lanes x 2 x clock; lanes by generation.
    lanes = {(7, 0): 64, (7, 5): 64, (8, 0): 64, (8, 6): 128, (8, 9): 128, (9, 0): 128}
    for device in GPUS.values():
        by_clock = (
            2 * device.multiprocessors * lanes[device.compute_capability]
            * device.clock_hz
        )  # fmt: skip
        assert by_clock == pytest.approx(device.flops["float32"], rel=0.01), device


def test_copies() -> None:
    pageable = Copy("h2d", 10**9, pinned=False, blocking=True)
    pinned = dataclasses.replace(pageable, pinned=True)
    v100 = gpu("V100")
    # 19.3 MB from pageable memory took 1.9 to 3.0 ms in four traces of V100s.
    batch = dataclasses.replace(pageable, nbytes=32 * 3 * 224 * 224 * 4)
    assert 1900 < copy_us(batch, v100) < 3700
    assert copy_us(pinned, v100) < copy_us(pageable, v100)
    assert copy_us(pinned, H100) < copy_us(pinned, v100)
    inside = Copy("d2d", 10**9, pinned=False, blocking=False)
    assert copy_us(inside, H100) < copy_us(pinned, H100) / 10
    empty = Copy("d2h", 0, pinned=True, blocking=True)
    assert copy_us(empty, H100) > 0


def test_near_the_traces_at_hand() -> None:
    from benchmarks.dryrun.kernel_errors import errors

    found = errors(ROOT / "tests" / "data" / "h100-vit-nsfw-inference.json.gz")
    assert found["not_compared"] == 0
    assert len(found["classes"]) >= 6
    for row in found["classes"]:
        assert row["median"] < 1.25, row
        assert 0.8 < row["sum_ratio"] < 1.25, row
        assert row["median"] <= row["roofline_median"], row


@pytest.mark.verify
@pytest.mark.parametrize("name", ["ViT-base", "ResNet-50 training, fp32"])
def test_programs_launch_what_the_page_says(name: str) -> None:
    from benchmarks.dryrun.programs import PROGRAMS
    from benchmarks.dryrun.run import dry

    results = json.loads((ROOT / "benchmarks/results/dryrun.json").read_text())
    rows = [row for row in results["programs"] if row["program"].startswith(name)]
    program = next(each for each in PROGRAMS if each.name.startswith(name))
    said, found = rows[0]["dry"], dry(program)
    assert found["kernels"] == said["kernels"]
    assert found["busy_us"] == pytest.approx(said["busy_us"], rel=1e-6)


@pytest.mark.verify
def test_stated_errors_are_those_of_the_worst_trace() -> None:
    results = json.loads((ROOT / "benchmarks/results/dryrun.json").read_text())
    found: dict[str, float] = {}
    for row in (row for trace in results["kernels"] for row in trace["classes"]):
        if row["operators"] >= 10:
            work = row["class"]
            found[work] = max(found.get(work, 0.0), row["median"])
    assert len(found) > 15
    for work, worst in found.items():
        assert CLASSES[work].error == pytest.approx(worst, abs=0.11), work


@pytest.mark.verify
def test_the_page_tells_in_sample_from_out() -> None:
    from benchmarks.dryrun.run import classes

    row = {
        "class": "gemm", "operators": 2, "kernels_said": 2, "kernels": 3,
        "median": 1.1, "p90": 1.2, "within_2": 1.0, "sum_ratio": 0.9, "ms": 1.0,
        "roofline_median": 5.0,
    }  # fmt: skip
    some = [{**row, "fitted": False}, {**row, "fitted": True}]
    rows = classes({"kernels": [{"trace": "t", "classes": some}]})["rows"]
    assert [row["fitted"] for row in rows] == [True, False]
