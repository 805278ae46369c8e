# SPDX-License-Identifier: BSD-3-Clause
"""A report as HTML: what a notebook shows, and a page of its own."""
