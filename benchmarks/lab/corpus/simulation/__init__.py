# SPDX-License-Identifier: BSD-3-Clause
"""simulation: source S, CUDA timelines scheduled from dry runs."""
