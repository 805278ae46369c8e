# SPDX-License-Identifier: BSD-3-Clause
"""without_modes.py: blocks in which torch asks no mode, whoever entered it."""

from __future__ import annotations

from torchtraceap_dryrun.private_names import private

#: Function modes would answer for tensors on the device, also what a run asks itself.
without_function_modes = private("torch._C.DisableTorchFunction")
#: Gives the modes that it hides.
without_dispatch_modes = private("torch.utils._python_dispatch._disable_current_modes")
