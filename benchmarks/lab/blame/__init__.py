# SPDX-License-Identifier: BSD-3-Clause
"""Programs with faults, simulated, and what is said of them."""
