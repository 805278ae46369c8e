# SPDX-License-Identifier: BSD-3-Clause
"""explain: what a finding means and what to do; a language model's second opinion."""

#: Who says so, of what a language model answered.
LLM = "llm"
#: What a language model answers where none of the patterns is to blame.
NONE = "none"
