# SPDX-License-Identifier: BSD-3-Clause
"""fixes: what helps, as a change of the user's own code."""
