# SPDX-License-Identifier: BSD-3-Clause
"""accelerate.py: ``accelerator.profile`` with a report (docs/integrations.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from torchtraceap.integrations.extra import of_extra
from torchtraceap.profiling.notices import guarded, warn
from torchtraceap.profiling.profile import profile
from torchtraceap.profiling.session import Session

with of_extra("accelerate"):
    from accelerate.utils import ProfileKwargs as TheirProfileKwargs


class ProfileKwargs(TheirProfileKwargs):  # type: ignore[misc]
    """Accelerate's ``ProfileKwargs``, with a report on each recorded cycle::

        with accelerator.profile(ProfileKwargs()) as prof:
            for batch in loader:
                ...
                prof.step()

    It goes into ``Accelerator(kwargs_handlers=[...])`` too. ``accelerator.profile``
    then gives what ``torchtraceap.profile`` does: ``prof.report``. A forgotten
    ``prof.step()`` is reported, handlers may export whatever they like beside
    ``output_trace_dir``, and what goes wrong becomes a warning, so that no rank is left
    waiting for one that raised.

    Args:
        activities: As Accelerate names them, ``["cpu", "cuda"]``, or torch's.
        schedule_option: As Accelerate has it, instead of wait, warmup, active, repeat.
        output_trace_dir: A folder for each rank's last trace,
            ``profile_<process_index>.json``.
        **options: As for ``torchtraceap.profile``, with all of torch's, such as
            ``experimental_config`` and ``acc_events``, which Accelerate's own lacks.

    Attributes:
        session: What ``accelerator.profile`` gives. It can be used again.

    Raises what ``torchtraceap.profile`` raises.
    """

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule_option: Mapping[str, int] | None = None,
        output_trace_dir: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(output_trace_dir=output_trace_dir)
        if activities is not None:
            options["activities"] = [
                self._get_profiler_activity(one) if isinstance(one, str) else one
                for one in activities
            ]
        if schedule_option is not None:
            import torch

            options["schedule"] = torch.profiler.schedule(**schedule_option)
        self.session = profile(**options)
        if output_trace_dir is not None:
            vars(self.session)["export_chrome_trace"] = self._export

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        # Accelerator looks its handlers up by their very class.
        return TheirProfileKwargs

    def build(self) -> Session:
        """Returns what ``accelerator.profile`` enters."""
        return self.session

    def _export(self, path: str, **options: Any) -> None:
        """Writes the last trace. After the block, others wait for who raises here."""
        prof = self.session.torch_profiler
        if prof is None or prof.profiler is None:
            warn(f"nothing was recorded, so there is no trace to write to {path}")
        else:
            what = f"the trace was not written to {path}"
            guarded(what, lambda: prof.export_chrome_trace(path, **options))
