# SPDX-License-Identifier: BSD-3-Clause
"""The program ``torchtraceap``: program.py runs it, each command has a module."""

from torchtraceap.cli.program import main

__all__ = ["main"]
