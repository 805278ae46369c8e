# SPDX-License-Identifier: BSD-3-Clause
"""device: tensors that seem to lie on a GPU, and what happens to them there."""
