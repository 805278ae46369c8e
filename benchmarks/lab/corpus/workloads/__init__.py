# SPDX-License-Identifier: BSD-3-Clause
"""workloads: programs in pairs, slow and fixed, that compute the same."""
