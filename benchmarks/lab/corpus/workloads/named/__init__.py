# SPDX-License-Identifier: BSD-3-Clause
"""workloads/named: twins of programs that users meet under a name; their models are in
families/named_*.py."""
