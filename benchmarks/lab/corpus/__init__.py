# SPDX-License-Identifier: BSD-3-Clause
"""Labeled traces, and their generators."""
