# SPDX-License-Identifier: BSD-3-Clause
"""views: a report as text, page, table, file."""
