# SPDX-License-Identifier: BSD-3-Clause
"""perturbation: real traces with a pattern put in."""
