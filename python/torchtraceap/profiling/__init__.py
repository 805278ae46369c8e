# SPDX-License-Identifier: BSD-3-Clause
"""profiling: what works on a profiler while a program runs (docs/live.md)."""
