# SPDX-License-Identifier: BSD-3-Clause
"""pairs/named.py: pairs that are reported elsewhere under a name, see docs/cases."""

from __future__ import annotations

from workloads.pairs.pair import Pair

PAIRS: tuple[Pair, ...] = ()
