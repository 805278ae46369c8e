# SPDX-License-Identifier: BSD-3-Clause
"""detection: what a learned model says beside the rules; it needs torch."""

from pathlib import Path

from torchtraceap import _core

#: The weights that come with the package, where they do.
BUNDLED = Path(__file__).parents[1] / "weights" / "detector.safetensors"
#: The least share of a window that counts as a loss of a side, for rules and for the
#: labels that models are trained on.
LOSS = _core.LOSS
#: What a model's card calls the patterns that no label of its training told of.
NOT_ASKED = "not asked for"
#: In the card of what was trained further: the model whose thresholds these are.
CALIBRATED_FOR = "thresholds of"
