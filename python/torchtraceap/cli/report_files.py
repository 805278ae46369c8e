# SPDX-License-Identifier: BSD-3-Clause
"""report_files.py: the options that write reports, one for each form there is."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence

from torchtraceap.cli.output import cannot_write, complain, say
from torchtraceap.cli.targets import Target
from torchtraceap.outputs import Output, write_output
from torchtraceap.report import Report


def report_options(group: argparse._ArgumentGroup, outputs: Iterable[Output]) -> None:
    """Add an option for each form."""
    for output in outputs:
        group.add_argument(f"--{output.name}", metavar=output.metavar, help=output.help)


def wanted_outputs(
    options: argparse.Namespace, outputs: Iterable[Output]
) -> dict[Output, str]:
    """Return the forms that were asked for, and where to."""
    given = {output: getattr(options, output.name) for output in outputs}
    return {output: path for output, path in given.items() if path is not None}


def report_targets(wanted: Mapping[Output, str]) -> list[Target]:
    """Return what is to be written, for `are_fine`."""
    return [
        Target(
            output.name, path, not output.suffix, output.text is not None, output.check
        )
        for output, path in wanted.items()
    ]


def write_report(
    output: Output, reports: Sequence[Report], target: str, several: bool = False
) -> bool:
    """Write reports in one form; complain and return False if that cannot be."""
    text = None
    try:
        if target == "-" and output.text is not None:
            text = output.text(reports, several)
        else:
            write_output(output, reports, target, several)
    except OSError as error:
        if error.errno is None:  # The core's, about the trace: it says what to do.
            complain(f"--{output.name} {target}: {error}")
            return False
        takes_stdout = output.text is not None
        cannot_write(output.name, target, error, not output.suffix, takes_stdout)
    except (ImportError, ValueError, RuntimeError) as error:
        complain(f"--{output.name} {target}: {error}")
    else:
        if text:
            say(text)
        return True
    return False
