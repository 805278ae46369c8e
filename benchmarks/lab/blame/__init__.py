# SPDX-License-Identifier: BSD-3-Clause
"""Simulated programs with faults, and the scores of torchtraceap on them."""
