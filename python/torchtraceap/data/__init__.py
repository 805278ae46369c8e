# SPDX-License-Identifier: BSD-3-Clause
"""data: from a source to what a report says, as plain data."""
