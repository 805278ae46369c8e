# SPDX-License-Identifier: BSD-3-Clause
"""script: a user's program run dry, by the command line."""
