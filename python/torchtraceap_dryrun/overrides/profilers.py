# SPDX-License-Identifier: BSD-3-Clause
"""profilers.py: torch's own profiler, used by a program in a dry run. Loads torch.

It would look for a GPU where there seems to be one, and warn of each event that there
is none. So it records the CPU alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from torchtraceap_dryrun.facade.replacing import Replacements

NOTE = (
    "torch's profiler recorded the CPU alone: what it says of operators on the GPU is "
    "the work of the dry run"
)


@contextmanager
def installed(note: Callable[[str], Any]) -> Iterator[None]:
    """Let profilers that are made in the block do without a GPU.

    Args:
        note: Called with a sentence for the user whenever one is made.
    """
    profile = torch.autograd.profiler.profile
    of_torch = profile.__init__

    def without_gpu(self: Any, *args: Any, **kwargs: Any) -> None:
        note(NOTE)
        wanted = kwargs.pop("use_cuda", False) or kwargs.get("use_device") == "cuda"
        if wanted:
            kwargs = {**kwargs, "use_device": None, "use_cpu": True}
        of_torch(self, *args, **kwargs)

    with Replacements() as replaced:
        replaced.set(profile, "__init__", without_gpu)
        yield
