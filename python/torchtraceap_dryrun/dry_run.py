# SPDX-License-Identifier: BSD-3-Clause
"""dry_run.py: `torchtraceap.dry_run`, a block in which there seems to be a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import get_args

from torchtraceap.base.arguments import checked_int, wrong_number
from torchtraceap.base.errors import DryRunError
from torchtraceap_dryrun.device.dispatch import Dispatch
from torchtraceap_dryrun.device.function_mode import FunctionMode
from torchtraceap_dryrun.device.modes import seen_by
from torchtraceap_dryrun.device.moved_modules import bringing_back
from torchtraceap_dryrun.device.run import Run
from torchtraceap_dryrun.device.values import Values
from torchtraceap_dryrun.estimate.gpus import gpu as gpu_of
from torchtraceap_dryrun.facade.active_run import only_run
from torchtraceap_dryrun.limits import Limits
from torchtraceap_dryrun.outcome import Outcome
from torchtraceap_dryrun.private_names import check_names
from torchtraceap_dryrun.record import Dial
from torchtraceap_dryrun.record_writer import RecordWriter
from torchtraceap_dryrun.stand_ins import StandIns


class DryRun(Outcome):
    """What `dry_run` gives: enter it, and look at it during the block or afterwards."""

    #: The error for starting another one meanwhile; "": the line that begins it.
    begun = ""

    def __init__(
        self,
        values: Dial,
        seed: int,
        gpu: str,
        max_ops: int,
        max_seconds: float,
        allow_writes: bool = False,
    ) -> None:
        check_names()
        the_gpu = gpu_of(gpu)
        self._recorder = RecordWriter(the_gpu, max_ops, max_seconds)
        super().__init__(self._recorder.record, the_gpu)
        self._run = Run(self._recorder, Values(values, seed))
        self._functions = FunctionMode(self._run)
        self._dispatch = Dispatch(self._run, self._functions)
        self._allow_writes = allow_writes
        self._open = ExitStack()
        self._entered = False

    @property
    def limits(self) -> Limits:
        """What ends the run if it does not end by itself."""
        return self._recorder.limits

    def on_refused(self, call: Callable[[DryRunError], object]) -> None:
        """Call a function with the error that another thread gets, in that thread."""
        self._recorder.refusing = call

    def step(self) -> None:
        """End a step, as `torch.profiler.profile.step` does.

        Raises:
            DryRunError: The block has not begun, has ended, or is suspended: nothing
                was written down that the step could be of.
        """
        if _under_way is not self or self._stand_ins.suspended:
            raise DryRunError(
                f"step() was called {self._when()}, where nothing is written down: "
                "call it in the block of the run, at the end of each step"
            )
        self._recorder.step()

    def _when(self) -> str:
        if not self._entered:
            return "before the dry run was entered"
        if _under_way is not self:
            return "after the dry run had ended"
        return "while the dry run was suspended"

    def __enter__(self) -> DryRun:
        global _under_way
        if self._entered:
            raise DryRunError("a dry run can be entered once: make a new one")
        self._entered = True
        with ExitStack() as opening:
            opening.enter_context(only_run(self.begun))
            opening.enter_context(bringing_back(self._functions.moved))
            self._recorder.enter()
            self._stand_ins = StandIns(self._functions, self._allow_writes)
            opening.callback(self._stand_ins.end)
            self._stand_ins.begin()
            opening.enter_context(seen_by(self._functions))
            opening.enter_context(seen_by(self._dispatch))
            opening.callback(_forget)
            _under_way = self
            self._open = opening.pop_all()
        return self

    def suspend(self) -> None:
        """Let torch be as it is without a GPU until `resume`; may be nested.

        For what outlives the run. The modes stay where they are among those that the
        program entered, and let everything pass.
        """
        self._stand_ins.suspend()

    def resume(self) -> None:
        """Go on after `suspend`."""
        self._stand_ins.resume()

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Be suspended while a block lasts."""
        self.suspend()
        try:
            yield
        finally:
            self.resume()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, KeyboardInterrupt):
            self.record.interrupted = True
        try:
            self._open.close()
        finally:
            # Code of the program that torch calls back may hold the modes, such as what
            # unpacks a tensor of a graph.
            self._run.paused = True


_under_way: DryRun | None = None


def under_way() -> DryRun | None:
    """Return the dry run that this process is in, if any."""
    return _under_way


def _forget() -> None:
    global _under_way
    _under_way = None


def dry_run(
    *,
    values: Dial = "small",
    seed: int = 0,
    gpu: str = "H100 SXM",
    max_ops: int = 1_000_000,
    max_seconds: float = 600.0,
    allow_writes: bool = False,
) -> DryRun:
    """Return a block in which code for a GPU runs on a machine without one, to see what
    it would make the GPU do and where it would wait for it::

        with torchtraceap.dry_run() as run:
            model, optimizer = build(device="cuda")
            for _ in range(3):
                train_step(model, optimizer, batch())
                run.step()
        print(run.summary())

    Tensors on the device have shapes and types, but no memory. The code must run in the
    thread that enters the block: others are refused the device.

    Args:
        values: Which values are computed, on the CPU: "none", those of "small" tensors
            (4,096 numbers, or 65,536 of integers and bools), or "all". Other values
            that the host reads are guesses, and reported as such.
        seed: Of guesses and of random numbers on the device.
        gpu: The GPU to simulate, such as "A100"; the error for an unknown one lists the
            known ones.
        max_ops: Operators after which DryRunLimit is raised in the block.
        max_seconds: The same of seconds. Only operators on the device look at the
            clock: a loop that runs none is not ended.
        allow_writes: Let torch.save and safetensors write values of the device to
            files. They are guesses, so it is left out, and said, unless this is True;
            torch.load of such a file has what was saved.

    Raises:
        ValueError: An option is invalid.
        TypeError: An option is of another type.
        DryRunError: This torch lacks a name that is needed. On entering: there is a
            real GPU, or a dry run is under way. In the block: an operator cannot be run
            dry.
    """
    if values not in get_args(Dial):
        raise ValueError(f"values: {values!r} is none of {', '.join(get_args(Dial))}")
    checked_int("seed", seed, 0, (1 << 63) - 1)
    checked_int("max_ops", max_ops, 1, 1 << 40)
    if wrong := wrong_number(max_seconds):
        raise ValueError(f"max_seconds {wrong}")
    return DryRun(values, seed, gpu, max_ops, max_seconds, allow_writes)
