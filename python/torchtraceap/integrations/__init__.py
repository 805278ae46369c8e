# SPDX-License-Identifier: BSD-3-Clause
"""integrations: trainers that call us, and places where reports go."""
