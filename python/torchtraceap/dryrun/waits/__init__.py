# SPDX-License-Identifier: BSD-3-Clause
"""waits: what makes the host wait for a GPU."""
