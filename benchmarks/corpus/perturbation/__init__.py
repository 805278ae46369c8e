# SPDX-License-Identifier: BSD-3-Clause
"""benchmarks/corpus/perturbation: real traces with a pattern put in."""
