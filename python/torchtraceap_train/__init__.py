# SPDX-License-Identifier: BSD-3-Clause
"""How the detector learns: ``torchtraceap train`` and docs/detector.md."""
