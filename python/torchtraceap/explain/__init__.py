# SPDX-License-Identifier: BSD-3-Clause
"""explain: what a finding means and what to do; a language model's second opinion."""
