# SPDX-License-Identifier: BSD-3-Clause
"""How often rules, detector and models name the pattern of a window right."""
