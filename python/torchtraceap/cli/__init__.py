# SPDX-License-Identifier: BSD-3-Clause
"""The program ``torchtraceap``: program.py runs it, each command has a module."""

from torchtraceap.cli.program import console, main

__all__ = ["console", "main"]
