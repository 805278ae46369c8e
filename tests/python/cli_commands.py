# SPDX-License-Identifier: BSD-3-Clause
"""cli_commands.py: the commands of the program, each with its parser."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from torchtraceap.cli import program as cli_program
from torchtraceap.cli.output import commands_of


def the_commands() -> Mapping[str, argparse.ArgumentParser]:
    return commands_of(cli_program.make_parser())
