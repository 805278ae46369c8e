# SPDX-License-Identifier: BSD-3-Clause
"""Who names the pattern of a window right."""
