# SPDX-License-Identifier: BSD-3-Clause
"""ranks: the ranks of one job, together."""
