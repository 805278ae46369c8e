# SPDX-License-Identifier: BSD-3-Clause
"""fleets: thousands of traces analyzed into one data set, and questions over it."""
