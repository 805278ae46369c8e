# SPDX-License-Identifier: BSD-3-Clause
"""estimate: the kernels that operators launch, and how long those take."""
