# SPDX-License-Identifier: BSD-3-Clause
"""base: what knows nothing of traces: arguments, errors, units, text, files."""
