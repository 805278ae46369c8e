# SPDX-License-Identifier: BSD-3-Clause
"""overrides: what torch does otherwise for CUDA tensors than for others."""
