# SPDX-License-Identifier: BSD-3-Clause
"""Detectors compared on a corpus."""
