# SPDX-License-Identifier: BSD-3-Clause
"""wait_kinds.py: which sub-type of sync_stall each wait of the table is, and how to
call it where it is not known what the user wrote. No torch."""

from __future__ import annotations

from collections.abc import Iterable

from torchtraceap.dryrun.waits import sync_ops as ops

#: The sub-types of the core's rule sync_stall.
SUBTYPES = ("scalar_read", "data_dependent_shape", "blocking_copy", "event", "explicit")
_IN_WORDS = {
    "scalar_read": "reading a value",
    "data_dependent_shape": "asking for a size",
    "blocking_copy": "copying",
    "event": "synchronizing",
    "explicit": "synchronizing",
}
_MOST_WRITTEN = 3

_COPIES = {
    ops.PRINT,
    ops.TO_HOST,
    ops.TO_DEVICE,
    ops.OF_DATA,
    ops.BY_LIST,
    "aten::segment_reduce",
    "aten::_ctc_loss",
}
_SIZES = {
    "aten::nonzero",
    "aten::masked_select",
    "aten::index",
    "aten::index_put",
    "aten::index_put_",
    "aten::_unique",
    "aten::_unique2",
    "aten::unique_dim",
    "aten::unique_consecutive",
    "aten::unique_dim_consecutive",
    "aten::repeat_interleave",
    "aten::bincount",
    "aten::isin",
    "aten::_to_sparse",
    "aten::_coalesce",
    "aten::cross_entropy_loss",
}


def kind_of(api: str) -> str:
    """Return the sub-type of an API of the table: what is no copy, no size and was not
    asked for reads one value back, such as an error code."""
    if api in _COPIES:
        return "blocking_copy"
    if api in _SIZES:
        return "data_dependent_shape"
    if api == "Event.synchronize":
        return "event"
    return "scalar_read" if api.startswith("aten::") else "explicit"


def head_of(api: str, written: str = "") -> str:
    """Return what waits, for people: what they wrote, else what it is in words; and the
    API, which can be searched for, and which `allow` of the checks takes."""
    if not written:
        if api not in ops.BY_OPERATOR:
            return api
        written = _IN_WORDS[kind_of(api)]
    return api if written == f"{api}()" else f"{written} ({api})"


def written_together(texts: Iterable[str]) -> str:
    """Join what was written at one line; "" if a part is not known, or it is much."""
    known = list(dict.fromkeys(texts))
    return "" if "" in known or len(known) > _MOST_WRITTEN else ", ".join(known)
