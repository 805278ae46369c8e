# SPDX-License-Identifier: BSD-3-Clause
"""judging: figures of a detector's scores, with intervals over groups of runs."""
