# SPDX-License-Identifier: BSD-3-Clause
"""model: how a language model is asked, and what becomes of its answers."""
