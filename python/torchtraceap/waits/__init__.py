# SPDX-License-Identifier: BSD-3-Clause
"""waits: what makes a host wait for a device, and the verdict on it."""
