# SPDX-License-Identifier: BSD-3-Clause
"""targets.py: the options that write reports, one for each form there is."""

from __future__ import annotations

import argparse
import errno
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from torchtraceap.base.files import same_file
from torchtraceap.cli.output import cannot_write, complain, say, unwritable
from torchtraceap.report import Report
from torchtraceap.views.outputs import Output, write_output


@dataclass(frozen=True)
class Target:
    """What an option names to be written."""

    option: str  # Without the dashes.
    path: str
    is_folder: bool = False
    takes_stdout: bool = True  # "-" is standard output.
    # Raises ValueError for what this form does not write to.
    check: Callable[[str], None] | None = None

    @property
    def shown(self) -> str:
        return f"--{self.option} {self.path or repr('')}"

    @property
    def noun(self) -> str:
        return "folder" if self.is_folder else "file"


def are_fine(targets: Sequence[Target], inputs: Sequence[str]) -> bool:
    """Tell whether all can be written as far as can be known, none of the inputs among
    them; complain if not."""
    for target in targets:
        if text := _problem(target, inputs) or _shared(target, targets):
            complain(text)
            return False
    return True


def _problem(target: Target, inputs: Sequence[str]) -> str:
    if not target.path:
        return (
            f"{target.shown} names no {target.noun}. Give it one, or leave the option "
            "out."
        )
    if target.path == "-":
        if target.takes_stdout:
            return ""
        return (
            f"{target.shown}: this does not go to standard output. "
            f"Name a {target.noun}."
        )
    for path in inputs:
        if same_file(path, target.path):
            return f"{target.shown} would overwrite {path}. Give it another file."
    if number := _refusal(target.path, target.is_folder):
        return _unwritable(target, OSError(number, os.strerror(number)))
    if target.check:
        try:
            target.check(target.path)
        except ValueError as error:
            return f"--{target.option}: {error}"
        except OSError as error:
            return _unwritable(target, error)
    return ""


def _unwritable(target: Target, error: OSError) -> str:
    return unwritable(
        target.option, target.path, error, target.is_folder, target.takes_stdout
    )


def _refusal(path: str, is_folder: bool) -> int:
    """Return the error that writing would meet; 0 if none can be foreseen."""
    if os.path.isdir(path):
        if not is_folder:
            return errno.EISDIR
        return 0 if os.access(path, os.W_OK | os.X_OK) else errno.EACCES
    if os.path.exists(path):
        if is_folder:
            return errno.ENOTDIR
        return 0 if os.access(path, os.W_OK) else errno.EACCES
    parent = os.path.dirname(path) or "."
    while is_folder and parent and not os.path.exists(parent):  # They are made.
        parent = os.path.dirname(parent) or "."
    if not os.path.exists(parent):
        return errno.ENOENT
    if not os.path.isdir(parent):
        return errno.ENOTDIR
    return 0 if os.access(parent, os.W_OK | os.X_OK) else errno.EACCES


def _shared(target: Target, targets: Sequence[Target]) -> str:
    """Say which other option writes to the same place."""
    for other in targets[: targets.index(target)]:
        if _are_one(target.path, other.path):
            return (
                f"--{other.option} and --{target.option} name the same "
                f"{target.noun}. Give them two."
            )
        for inner, outer in ((target, other), (other, target)):
            folder = os.path.dirname(os.path.realpath(inner.path))
            if outer.is_folder and folder == os.path.realpath(outer.path):
                return (
                    f"{inner.shown} lies in the folder of --{outer.option}, which "
                    "holds nothing else. Give it a file outside."
                )
    return ""


def _are_one(one: str, other: str) -> bool:
    if "-" in (one, other):
        return one == other
    if os.path.exists(one) and not (os.path.isfile(one) or os.path.isdir(one)):
        return False  # As /dev/null, which takes any number.
    return os.path.realpath(one) == os.path.realpath(other) or same_file(one, other)


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
