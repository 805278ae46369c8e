# SPDX-License-Identifier: BSD-3-Clause
"""checking: what tests assert on: waits for the GPU, patterns and budgets of traces.

``sync_*`` is SyncCheck, usable without pytest; ``trace_check`` and ``recording`` judge
traces; ``outcome`` and ``check_log`` carry what came out to pytest's reports.
"""
