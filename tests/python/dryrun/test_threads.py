# SPDX-License-Identifier: BSD-3-Clause
"""test_threads.py: other threads than the one that entered a dry run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("torch")

import torch

from torchtraceap.dryrun.dry_run import dry_run
from torchtraceap.errors import DryRunError

if torch.cuda.is_available():
    pytest.skip("a GPU is here", allow_module_level=True)


@pytest.mark.parametrize(
    "use",
    [
        lambda data: data + 1,
        lambda data: torch.cat([data, data]),
        lambda data: data.device,
        lambda data: torch.ones(3).to("cuda"),
        lambda data: torch.ones(3, device="cuda"),
        lambda data: torch.nn.Linear(2, 2).cuda(),
    ],
)
def test_a_thread_that_uses_the_device_is_told(
    use: Callable[[torch.Tensor], object],
) -> None:
    with dry_run() as run:
        data = torch.ones(3, device="cuda")
        with ThreadPoolExecutor(1, "loads") as pool:
            future = pool.submit(use, data)
            with pytest.raises(DryRunError, match="'loads_0' uses the GPU"):
                future.result()
    assert "'loads_0' was refused the GPU" in run.summary().replace("\n", " ")


def test_threads_that_stay_on_the_host_are_as_ever() -> None:
    done = []

    class Own(threading.Thread):
        def run(self) -> None:
            done.append(torch.ones(3).sum().item())

    start = threading.Thread.start
    with dry_run() as run:
        thread = Own()
        thread.start()
        thread.join()
    assert done == [3.0] and not run.record.notes and not run.ops
    assert threading.Thread.start is start


def test_a_thread_that_outlives_the_run_is_free() -> None:
    ended, found = threading.Event(), []

    def work() -> None:
        ended.wait()
        found.append(torch.ones(3, device="meta").device.type)

    with dry_run():
        thread = threading.Thread(target=work)
        thread.start()
    ended.set()
    thread.join()
    assert found == ["meta"]
