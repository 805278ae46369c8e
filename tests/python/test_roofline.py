# SPDX-License-Identifier: BSD-3-Clause
"""test_roofline.py: flops of recorded operators, against torch's own counter.

Operators run on the CPU under torch's profiler, so that their args are as this version
of torch writes them; kernels are then added to the trace.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

import torchtraceap

from .trace_builder import kernel, launch

torch = pytest.importorskip("torch")
flop_counter = pytest.importorskip("torch.utils.flop_counter")

# Operators that compute, here and where the counter counts.
COUNTED = {
    *("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm"),
    *("aten::convolution", "aten::convolution_backward"),
    "aten::_scaled_dot_product_flash_attention_for_cpu",
}
Program = Callable[[random.Random], None]


def matrices(draw: random.Random) -> None:
    m, k, n, b = (draw.randint(1, 40) for _ in range(4))
    left, right = torch.randn(m, k), torch.randn(k, n)
    torch.mm(left, right)
    torch.mm(torch.randn(k, m).t(), right)
    torch.addmm(torch.randn(n), left, right)
    batches = torch.randn(b, m, k), torch.randn(b, k, n)
    torch.bmm(*batches)
    torch.baddbmm(torch.randn(b, m, n), *batches)


def convolutions(draw: random.Random) -> None:
    space = draw.randint(1, 3)
    groups = draw.choice((1, 1, 2, 3))
    channels, filters = (groups * draw.randint(1, 4) for _ in range(2))
    stride, padding, dilation = (
        [draw.randint(1, 2) for _ in range(space)],
        [draw.randint(0, 2) for _ in range(space)],
        [draw.randint(1, 2) for _ in range(space)],
    )
    sizes = [draw.randint(7, 12) for _ in range(space)]
    window = [draw.randint(1, 3) for _ in range(space)]
    image = torch.randn(draw.randint(1, 3), channels, *sizes, requires_grad=True)
    weight = torch.randn(filters, channels // groups, *window, requires_grad=True)
    convolve = getattr(torch.nn.functional, f"conv{space}d")
    out = convolve(
        image, weight, None, stride, padding, dilation=dilation, groups=groups
    )
    if groups == 1:  # torch's counter leaves groups out of the weight's gradient.
        out.sum().backward()


def transposed(draw: random.Random) -> None:
    channels, filters = draw.randint(1, 5), draw.randint(1, 5)
    image = torch.randn(2, channels, draw.randint(3, 9), draw.randint(3, 9))
    weight = torch.randn(channels, filters, 3, 2)
    more = [draw.randint(0, 1) for _ in range(2)]
    torch.nn.functional.conv_transpose2d(
        image, weight, None, stride=2, padding=1, output_padding=more
    )


def with_kernels(recorded: Path) -> bytes:
    """Return a trace in which each operator of the table launches a kernel."""
    trace = json.loads(recorded.read_text())
    events = trace["traceEvents"]
    for number, event in enumerate(list(events), 1):
        if event.get("name") in COUNTED and event.get("ph") == "X":
            where = {"pid": event["pid"], "tid": event["tid"]}
            # Within it, and before whatever it calls.
            events.append(launch(event["ts"], number, 0.0, **where))
            end = event["ts"] + event["dur"]
            events.append(kernel(end + 10, 5, correlation=number, device=0))
    return json.dumps(trace).encode()


def counted(run: Callable[[], object], folder: Path) -> dict[str, float]:
    """Return the flops of each operator of the table, as the report has them."""
    profiler = torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True
    )
    with profiler:
        run()
    path = folder / "trace.json"
    profiler.export_chrome_trace(str(path))
    out: dict[str, float] = {}
    for row in torchtraceap.analyze(with_kernels(path), detector="off").roofline:
        out[row.name] = out.get(row.name, 0) + row.flops * row.count
    return out


@pytest.mark.parametrize("program", [matrices, convolutions, transposed])
@pytest.mark.parametrize("seed", range(4))
def test_flops_are_those_of_the_counter(
    program: Program, seed: int, tmp_path: Path
) -> None:
    with flop_counter.FlopCounterMode(display=False) as counter:
        program(random.Random(seed))
    truth = {
        str(operator).replace("aten.", "aten::", 1): flops
        for operator, flops in counter.get_flop_counts()["Global"].items()
    }
    assert truth
    assert counted(lambda: program(random.Random(seed)), tmp_path) == truth


@pytest.mark.parametrize("seed", range(4))
def test_flops_of_attention_are_those_of_the_formula(seed: int, tmp_path: Path) -> None:
    """The counter leaves the CPU's attention out, so its formula is asked."""
    draw = random.Random(seed)
    batch, heads, size = draw.randint(1, 3), draw.randint(1, 4), 8 * draw.randint(1, 4)
    lengths = [draw.randint(1, 50) for _ in range(2)]
    q, k = (torch.randn(batch, heads, length, size) for length in lengths)
    attend = torch.nn.functional.scaled_dot_product_attention
    truth = flop_counter.sdpa_flop_count(q.shape, k.shape, k.shape)
    assert counted(lambda: attend(q, k, k), tmp_path) == {
        "aten::_scaled_dot_product_flash_attention_for_cpu": truth
    }
