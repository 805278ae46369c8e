# SPDX-License-Identifier: BSD-3-Clause
"""compile.py: what `torch.compile` makes runs uncompiled. Loads torch.

No kernels can be compiled for a GPU that is not there, so what Inductor would fuse is
seen as the operators that the program wrote; a note says so. `torch.export`, which
needs what the compiler does, is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

# Loaded now: while torch.cuda seems to be there it would look for parts that are not.
import torch._dynamo

from torchtraceap.base.errors import DryRunError
from torchtraceap_dryrun.facade.replacing import Replacements
from torchtraceap_dryrun.private_names import private

NOTE = (
    "torch.compile was bypassed: a GPU would run fewer, fused kernels than the "
    "operators counted here"
)


def _refuse_fakes(*_: Any) -> None:
    raise DryRunError(
        "FakeTensorMode, which torch.export and the backward of flex_attention enter, "
        "cannot be entered in a dry run: its tensors are meta too. Export before the "
        "block, run flex_attention under torch.no_grad() or put scaled_dot_product_"
        "attention in its place, or leave out what enters it"
    )


@contextmanager
def installed(note: Callable[[str], Any]) -> Iterator[None]:
    """Run compiled functions as they were written, also those compiled before.

    Args:
        note: Called with a sentence for the user whenever one is called.
    """
    on_call = private("torch._dynamo.eval_frame._callback_from_stance")

    def noted(compiler: Any) -> Any:
        if compiler not in (None, False):  # as for functions never to be compiled
            note(NOTE)
        return on_call(compiler)

    with torch.compiler.set_stance("force_eager"), Replacements() as replaced:
        fakes = private("torch._subclasses.fake_tensor.FakeTensorMode")
        replaced.set(fakes, "__enter__", _refuse_fakes)
        replaced.set(torch._dynamo.eval_frame, "_callback_from_stance", noted)
        # torch.compile warns of hooks on all modules, which are the dry run's own.
        modules = torch.nn.modules.module
        replaced.set(modules, "_has_any_global_hook", lambda: False)
        yield
