# SPDX-License-Identifier: BSD-3-Clause
"""launching.py: launches, copies and waits of a program, and their lengths."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from benchmarks.lab.corpus.simulation.conditions import Conditions
from benchmarks.lab.corpus.simulation.items import Item
from benchmarks.lab.corpus.simulation.kernel_rows import HEAVY, KernelRows
from benchmarks.lab.corpus.simulation.profiles import Profile
from benchmarks.lab.corpus.simulation.programs import launch_us
from torchtraceap import _core
from torchtraceap_dryrun.estimate.kernel_time import CLASSES, copy_us
from torchtraceap_dryrun.estimate.launch import Launch
from torchtraceap_dryrun.record import Copy


@dataclass(frozen=True)
class View:
    """How a program is written: as it is, or as if something cost nothing."""

    captured: bool = False  #: A CUDA graph holds all it can hold.
    no_waits: bool = False  #: The host never waits for the device.
    hidden: bool = False  #: Nothing waits for collectives.
    tensor_cores: bool = False  #: What computes in fp32 could use them.
    aligned: bool = False  #: No product has odd sizes.
    filled: bool = False  #: Kernels of few blocks have as many as the device takes.
    copied: bool = False  #: Copies between host and device are beside the work.


PLAIN = View()


@dataclass
class Lowered:
    """A program, and which item each of its work belongs to."""

    program: _core.Program
    keys: dict[int, str] = field(default_factory=dict)  #: By place of the work.
    reductions: list[int] = field(default_factory=list)  #: Work of rank 0.


_COPIES = {"h2d": "Memcpy HtoD ({} -> Device)", "d2h": "Memcpy DtoH (Device -> {})"}
_GRAPH_US = 0.12  # What a graph's node takes the host.
#: What a kernel takes of which more data makes more blocks and no longer blocks: the
#: first wave, and its start.
_START_US = 4.0
#: As the rule asks: shorter kernels are not slow for want of blocks, and libraries
#: leave up to a fifth of the multiprocessors without one.
_SHORTEST_US, _FULLEST = 10.0, 0.8
# Libraries zero a workspace before some of their kernels: as short as memsets of the
# real traces are, and of as few bytes.
_ZERO_US, _ZERO_BYTES = 1.3, 4096
#: In us. Readers of a trace take a copy's longer call for a wait for the device.
_LONGEST_COPY_CALL = 75.0
_UNALIGNED = "_unaligned"
_CLOCK_HZ = 1.98e9  # Of the GPU that what kernels take to start is of.


class Launching:
    """What threads have the device do, in the stream of a program.

    Attributes:
        slow: How many times as long the host takes just now.
    """

    def __init__(
        self, conditions: Conditions, profile: Profile, rows: KernelRows, view: View
    ) -> None:
        self._conditions, self._profile = conditions, profile
        self._rows, self._view = rows, view
        self._gpu = gpu = conditions.device
        self.program = program = _core.Program()
        major, minor = gpu.compute_capability
        more = (
            '"maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": '
            f"{gpu.threads_per_multiprocessor}, "
            '"regsPerBlock": 65536, "regsPerMultiprocessor": 65536, "warpSize": 32'
        )
        program.add_device(
            0, gpu.name, gpu.memory_bytes, gpu.multiprocessors, major, minor, more
        )
        self.stream = program.add_stream(7)
        program.resolution_ns = conditions.recording.resolution_ns
        self.out = Lowered(program)
        self.slow = 1.0

    def us(self, what: str, key: str, of: str = "") -> float:
        """Draw what takes the host so long; see Profile.us."""
        return self._profile.us(what, key, of) * self.slow

    def launch(
        self, item: Item, launch: Launch, us: float, key: str, thread: int, held: bool
    ) -> None:
        """Launch a kernel, memset or copy on the device; `held`: by a graph."""
        if item.precise and _is_product(launch):
            launch = replace(launch, dtype="float32")
            us = max(us, launch_us(launch, self._gpu))
        us = self._device_us(item, launch, us, key)
        if launch.work in HEAVY and self._profile.zeroes(key):
            self._zero_workspace(key, thread, held)
        more = max(self._more(item), 1.0)
        row = self._rows.row(launch, item.name, more) if launch.is_kernel else None
        if self._view.filled and row is not None:
            us = self._filled(launch, us, row.blocks_per_sm)
        if not held:
            for name in self._profile.other_calls(key):
                other = self.us("call other", f"{key}{name}")
                self.program.call(thread, name, round(other * 1000))
        call = _GRAPH_US if held else self.us("call launch", key)
        times = round(us * 1000), round(call * 1000)
        lengths = self._lengths(key, held, call)
        if launch.work == "memset":
            place = self.program.memset(
                thread, self.stream, "Memset (Device)", *times, round(launch.nbytes),
                **lengths,
            )  # fmt: skip
        elif launch.work == "memcpy":
            place = self.program.copy(
                thread, self.stream, "Memcpy DtoD (Device -> Device)", *times,
                round(launch.nbytes / 2), **lengths,
            )  # fmt: skip
        else:
            assert row is not None
            place = self.program.kernel(
                thread, self.stream, row.name, *times, args=row.args,
                blocks_per_sm=row.blocks_per_sm, **lengths,
            )  # fmt: skip
        self.out.keys[place] = key

    def _zero_workspace(self, key: str, thread: int, held: bool) -> None:
        key += "|zero"
        call = _GRAPH_US if held else self.us("call memset", key)
        place = self.program.memset(
            thread, self.stream, "Memset (Device)",
            round(_ZERO_US * self._profile.factor("kernel", key, 0.12) * 1000),
            round(call * 1000), _ZERO_BYTES, **self._lengths(key, held, call),
        )  # fmt: skip
        self.out.keys[place] = key

    def copy(self, copy: Copy, key: str, thread: int, held: bool) -> None:
        """Copy between host and device."""
        profile = self._profile
        waits = copy.blocking and not self._view.no_waits
        memory = "Pinned" if copy.pinned or self._view.no_waits else "Pageable"
        if copy.direction == "d2d":
            name = "Memcpy DtoD (Device -> Device)"
        else:
            name = _COPIES[copy.direction].format(memory)
        us = copy_us(copy, self._gpu) * profile.factor("copy", key, 0.15)
        # What is pageable has to be pinned first, which is another fix.
        if self._view.copied and copy.pinned and copy.direction != "d2d":
            us = 0.001
        call = min(self.us("call launch", key + "c") * 1.3, _LONGEST_COPY_CALL)
        place = self.program.copy(
            thread, self.stream, name, round(us * 1000), round(call * 1000),
            copy.nbytes, **self._lengths(key + "c", held, call),
        )  # fmt: skip
        self.out.keys[place] = key + "|copy"
        if waits:
            self.sync("stream_sync", key, thread)

    def sync(self, kind: str, key: str, thread: int) -> None:
        """Wait for the device, the stream or an event; the kind says for which."""
        if self._view.no_waits:
            return
        times = {
            "ns": round(self.us("sync idle", key) * 1000),
            "back": round(min(self._profile.steady_us("sync back", key), 15.0) * 1000),
        }
        if kind == "event_sync":
            event = self.program.add_event()
            self.program.record_event(thread, self.stream, event, 1500)
            self.program.event_sync(thread, event, **times)
        elif kind == "device_sync":
            self.program.device_sync(thread, self.stream, **times)
        else:
            self.program.stream_sync(thread, self.stream, **times)

    def _lengths(self, key: str, held: bool, call_us: float) -> dict[str, int]:
        # Work hardly starts before its launch has ended.
        latency = call_us + self._profile.steady_us("latency end", key)
        latency = 2.0 if held else latency
        gap = min(self._profile.steady_us("queued gap", key), 4.0)
        return {"latency": round(latency * 1000), "gap": round(gap * 1000)}

    def _device_us(self, item: Item, launch: Launch, us: float, key: str) -> float:
        profile = self._profile
        view = self._view
        if view.aligned and launch.work.endswith(_UNALIGNED):
            even = replace(launch, work=launch.work.removesuffix(_UNALIGNED))
            us *= min(1.0, launch_us(even, self._gpu) / launch_us(launch, self._gpu))
        if view.tensor_cores and launch.dtype == "float32" and not item.precise:
            us = self._with_tensor_cores(launch, us)
        # More data makes a kernel longer by what it works, not by what starting takes.
        starting = min(us, _START_US)
        us = starting + (us - starting) * self._more(item)
        us *= profile.factor("class", launch.work.removesuffix(_UNALIGNED), 0.2)
        us *= profile.factor("kernel", item.key, 0.12)
        return max(0.9, us * profile.factor("noise", key, 0.03))

    def _more(self, item: Item) -> float:
        return self._conditions.device_speed if item.grows else 1.0

    def _filled(self, launch: Launch, us: float, blocks_per_sm: float) -> float:
        """Return what a kernel takes whose work is spread over all of the device: what
        its start takes stays."""
        if us < _SHORTEST_US or blocks_per_sm > _FULLEST:
            return us
        start = CLASSES[launch.work].start_us * _CLOCK_HZ / self._gpu.clock_hz
        return max(us * min(blocks_per_sm, 1.0), min(us, start))

    def _with_tensor_cores(self, launch: Launch, us: float) -> float:
        peaks = self._gpu.flops
        if not _is_product(launch):
            return us
        fast = max(peaks.get("tf32", 0.0), peaks.get("float16", 0.0) / 2)
        slow = peaks["float32"]
        compute = 1e6 * launch.flops / (slow * 0.85)
        return max(us - compute * (1 - slow / max(fast * 0.6, slow)), us * 0.2)


def _is_product(launch: Launch) -> bool:
    return launch.work.split("_")[0] in ("gemm", "bmm", "conv")
