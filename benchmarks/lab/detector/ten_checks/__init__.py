# SPDX-License-Identifier: BSD-3-Clause
"""ten_checks: section 8 of corpus.md, against re-learning the injector."""
