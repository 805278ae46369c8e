# SPDX-License-Identifier: BSD-3-Clause
"""workloads/named: programs that users meet under a name, and their twins.

``*_models.py`` hold the families, which are among FAMILIES like all others; the other
modules the twins.
"""
