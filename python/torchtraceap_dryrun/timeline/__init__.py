# SPDX-License-Identifier: BSD-3-Clause
"""timeline: a dry run as a simulated trace."""
