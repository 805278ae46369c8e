# SPDX-License-Identifier: BSD-3-Clause
"""checking: what tests assert on: waits for the GPU, patterns and budgets of traces.

``sync_check`` is usable without pytest: a watch (its own of dry runs, ``gpu_watch`` or
``cpu_watch``, by ``device``) finds what waits. ``trace_check`` and ``recording`` judge
traces, ``outcome`` carries what came out to pytest's reports.
"""
