# SPDX-License-Identifier: BSD-3-Clause
"""baselines: detectors to compare with, all through well-kept libraries."""
