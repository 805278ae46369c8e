# SPDX-License-Identifier: BSD-3-Clause
"""operator_classes.py: which operators take the host about as long."""

from __future__ import annotations

import re
from functools import cache

_CLASSES = (
    ("collective", r"^(c10d|nccl|record_param_comms)"),
    ("optimizer", r"_foreach_|_fused_|_amp_"),
    ("convolution", r"conv"),
    ("matrix", r"::(mm|addmm|bmm|baddbmm|linear|matmul|einsum)"),
    ("attention", r"attention|flash"),
    ("norm", r"norm|softmax|cross_entropy|nll_loss"),
    ("copy", r"::(copy_|_to_copy|to|contiguous|clone|cat|stack)$"),
    ("fill", r"zero|fill|ones|full|empty|random|normal_|uniform_"),
    ("gather", r"index|gather|scatter|embedding|select|sort|topk|nonzero|where"),
    ("reduction", r"::_?(sum|mean|max|min|std|var|all|any|argmax|amax|prod|cumsum)"),
)


@cache
def operator_class(name: str) -> str:
    """Return the class of an operator; "elementwise" if it is in none."""
    for known, pattern in _CLASSES:
        if re.search(pattern, name):
            return known
    return "elementwise"
