# SPDX-License-Identifier: BSD-3-Clause
"""facade: torch.cuda and its like, as with one GPU."""
