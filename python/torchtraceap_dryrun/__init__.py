# SPDX-License-Identifier: BSD-3-Clause
"""dryrun: a step traced as if on a GPU, on a machine without one (docs/dryrun.md)."""
