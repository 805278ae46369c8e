# SPDX-License-Identifier: BSD-3-Clause
"""test_streams.py: streams and events of a dry run: what is ordered and waited for."""

from __future__ import annotations

from typing import Any

import pytest
import torch

# Bound before any run, as in a user's module.
from torch import Event as AnyEvent
from torch import Stream
from torch.cuda import Event, current_stream, synchronize
from torch.cuda import Stream as CudaStream

from torchtraceap.base.errors import DryRunError
from torchtraceap.waits.table import BY_OPERATOR
from torchtraceap_dryrun.facade.facade import Facade

from .told import Told


def test_streams_are_streams(told: Told) -> None:
    side = CudaStream()
    for kind in (CudaStream, torch.cuda.Stream, Stream, torch.Stream):
        assert isinstance(side, kind)
    assert str(side.device) == "cuda:0" and side.cuda_stream != 0
    assert current_stream().cuda_stream == 0
    assert current_stream() == torch.cuda.default_stream() != side
    assert isinstance(torch.Stream("cuda"), CudaStream)
    assert isinstance(Stream(), CudaStream)  # of the accelerator, by default
    assert not isinstance(torch.Stream("cpu"), CudaStream)
    assert len({torch.cuda.current_stream(), torch.cuda.default_stream(), side}) == 2
    assert side.priority_range() == torch.cuda.Stream.priority_range() == (0, -3)
    assert torch.cuda.Stream(priority=-99).priority == -3
    outside = torch.cuda.ExternalStream(0xABC)
    assert outside.cuda_stream == 0xABC
    assert outside == torch.cuda.get_stream_from_external(0xABC)


def test_pool_of_streams_begins_anew_after_32(told: Told) -> None:
    made = [torch.cuda.Stream() for _ in range(33)]
    assert made[32] == made[0] and len(set(made)) == 32


def test_work_is_ordered_as_the_program_says(told: Told) -> None:
    side, done = torch.cuda.Stream(), Event()
    side.wait_stream(current_stream())
    with torch.cuda.stream(side):
        assert current_stream() == side
        assert told.current_stream == side.number
        done.record()
        with torch.cuda.stream(None):
            assert current_stream() == side
    assert told.current_stream == 7
    current_stream().wait_event(done)
    done.wait()
    kinds = [(kind, stream) for kind, stream, _ in told.calls]
    assert kinds == [
        ("event_record", 7),
        ("stream_wait", side.number),
        ("event_record", side.number),
        ("stream_wait", 7),
        ("stream_wait", 7),
    ]
    again = Event()
    again.record(side)  # though another stream is current
    again.wait(side)
    assert told.calls[-2:] == [
        ("event_record", side.number, told.calls[-1][2]),
        ("stream_wait", side.number, told.calls[-1][2]),
    ]
    del told.calls[-2:]
    first, second = told.calls[0][2], told.calls[2][2]
    assert [event for *_, event in told.calls] == [first, first, *[second] * 3]
    assert first != second and not told.waits


def test_stream_is_put_back_after_an_error(told: Told) -> None:
    side = torch.Stream()
    with pytest.raises(ZeroDivisionError), side:
        assert torch.accelerator.current_stream() == side
        _ = 1 / 0
    assert told.current_stream == 7
    torch.accelerator.set_stream(side)
    assert told.current_stream == side.number
    torch.cuda.set_stream(torch.cuda.default_stream())
    assert told.current_stream == 7


@pytest.mark.parametrize(
    ("wait", "api", "kind"),
    [
        (lambda: synchronize(), "torch.cuda.synchronize", "device_sync"),
        (lambda: synchronize("cuda"), "torch.cuda.synchronize", "device_sync"),
        (
            lambda: torch.accelerator.synchronize(),
            "torch.accelerator.synchronize",
            "device_sync",
        ),
        (
            lambda: current_stream().synchronize(),
            "Stream.synchronize",
            "stream_sync",
        ),
        (
            lambda: current_stream().record_event().synchronize(),
            "Event.synchronize",
            "event_sync",
        ),
    ],
)
def test_waits_are_told(told: Told, wait: Any, api: str, kind: str) -> None:
    wait()
    assert api in BY_OPERATOR  # which says what to do instead
    assert told.waits == [api] and told.calls[-1][0] == kind


def test_what_waits_for_nothing_is_no_wait(told: Told) -> None:
    never = Event(enable_timing=True)
    never.synchronize()
    never.wait()
    assert never.query() and current_stream().query() and not told.calls
    begin, end = AnyEvent("cuda", enable_timing=True), Event(enable_timing=True)
    begin.record()
    end.record()
    # cudaEventElapsedTime raises if an event is not done; it does not wait for it.
    assert begin.elapsed_time(end) == 1.0 == -end.elapsed_time(begin)
    assert begin.elapsed_time(begin) == 0.0
    assert not told.waits and "no GPU ran" in told.notes[0]


def test_events_that_cannot_be_timed_say_so(told: Told) -> None:
    timed, plain = Event(enable_timing=True), Event()
    with pytest.raises(ValueError, match="enable_timing=True"):
        timed.elapsed_time(plain)
    with pytest.raises(ValueError, match="must be recorded"):
        timed.elapsed_time(Event(enable_timing=True))
    assert isinstance(plain, torch.cuda.Event) and isinstance(plain, torch.Event)
    assert str(plain.device) == "cuda:0"


def test_streams_and_events_can_outlive_a_run() -> None:
    # As variables of a module.
    with Facade(Told()) as _:
        made = [torch.cuda.Stream() for _ in range(3)]
        side, done = made[-1], Event()
        done.record(side)
    for use in (side.synchronize, side.query, done.synchronize, done.record):
        with pytest.raises(DryRunError, match="has ended"):
            use()
    told = Told()
    with Facade(told):
        done.synchronize()  # of the run before, so it is over
        assert not told.waits
        with torch.cuda.stream(side):
            assert current_stream() == side
            Event().record()
            done.record()
        with side:
            assert current_stream() == side
        done.wait()
    assert told.calls == [  # Events are numbered anew.
        ("event_record", side.number, 1),
        ("event_record", side.number, 2),
        ("stream_wait", 7, 2),
    ]


def test_modes_of_sync_debugging(told: Told) -> None:
    torch.cuda.set_sync_debug_mode("warn")
    assert torch.cuda.get_sync_debug_mode() == 1
