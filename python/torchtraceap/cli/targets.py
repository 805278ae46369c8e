# SPDX-License-Identifier: BSD-3-Clause
"""targets.py: output files of options, checked before any work, then written."""

from __future__ import annotations

import argparse
import errno
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from torchtraceap.base.files import same_file, write_text
from torchtraceap.cli.options import Options
from torchtraceap.cli.output import Refused, say
from torchtraceap.report import Report
from torchtraceap.views.outputs import Output, write_output


@dataclass(frozen=True)
class Target:
    """A file or folder to write, named by an option."""

    option: str  # Without the dashes.
    path: str
    is_folder: bool = False
    takes_stdout: bool = True  # "-" is standard output.
    # Raises ValueError or OSError for what this form does not write to.
    check: Callable[[str], None] | None = None

    def unwritable(self, error: OSError) -> str:
        """Return why it cannot be written, and what to name instead."""
        instead = "a file in a folder that exists and may be written to"
        if self.is_folder:
            instead = "a folder that may be written to"
        elif self.takes_stdout:
            instead += ", or - for standard output"
        why = error.strerror or error
        return f"cannot write {self.path}: {why}. Give --{self.option} {instead}."


def targets_of(
    options: argparse.Namespace, names: Iterable[str], takes_stdout: bool = True
) -> list[Target]:
    """Return the targets of those of the options that were given."""
    given = {name: getattr(options, name.replace("-", "_")) for name in names}
    return [
        Target(name, path, takes_stdout=takes_stdout)
        for name, path in given.items()
        if path is not None
    ]


def prints_summary(options: argparse.Namespace, targets: Iterable[Target]) -> bool:
    """Tell whether a command also prints its result."""
    return not options.quiet and all(target.path != "-" for target in targets)


def refuse_unwritable(targets: Sequence[Target], inputs: Iterable[str]) -> None:
    """Raise Refused if one of them cannot be written, as far as can be known before any
    work, is named twice, or is one of the inputs."""
    inputs = list(inputs)
    taken: dict[str, Target] = {}
    for target in targets:
        place = "-" if target.path == "-" else os.path.realpath(target.path)
        text = _problem(target, inputs)
        if not text and (other := taken.get(place)):
            text = (
                f"--{other.option} and --{target.option} name the same file or "
                "folder. Name two."
            )
        if text:
            raise Refused(text)
        if not os.path.exists(place) or os.path.isfile(place) or os.path.isdir(place):
            taken[place] = target  # /dev/null takes any number.


def _problem(target: Target, inputs: Iterable[str]) -> str:
    option, path = f"--{target.option}", target.path
    noun = "folder" if target.is_folder else "file"
    if not path:
        return f"{option} '' names no {noun}. Name one, or leave the option out."
    if path == "-":
        if target.takes_stdout:
            return ""
        return f"{option} -: this output cannot go to standard output. Name a {noun}."
    for other in inputs:
        if same_file(other, path):
            return f"{option} {path} would overwrite {other}. Name another file."
    try:
        _refuse(path, target.is_folder)
        if target.check:
            target.check(path)
    except OSError as error:
        return target.unwritable(error)
    except ValueError as error:
        return f"{option}: {error}"
    return ""


def _refuse(path: str, is_folder: bool) -> None:
    """Raise the OSError that writing would raise, as far as it is foreseeable."""
    if os.path.isdir(path) and not is_folder:
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    folder = path if is_folder else os.path.dirname(path) or "."
    try:
        os.stat(os.path.join(folder, "."))
    except FileNotFoundError:
        if is_folder:  # It is made.
            return
        raise
    place = path if os.path.exists(path) else folder
    if not os.access(place, os.W_OK):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))


def write(target: Target, text: str) -> None:
    """Write a target. Raises Refused if that fails."""
    if target.path == "-":
        say(text)
        return
    try:
        write_text(target.path, text)
    except OSError as error:
        raise Refused(target.unwritable(error)) from error


def report_options(add: Options, outputs: Iterable[Output]) -> None:
    """Add an option for each form of a report."""
    for output in outputs:
        add(f"--{output.name} {output.metavar}", output.help)


def report_targets(
    options: argparse.Namespace, outputs: Iterable[Output]
) -> Mapping[Output, Target]:
    """Return the requested forms and their targets."""
    given = {output: getattr(options, output.name) for output in outputs}
    return {
        output: Target(
            output.name, path, not output.suffix, output.text is not None, output.check
        )
        for output, path in given.items()
        if path is not None
    }


def write_report(
    output: Output, reports: Sequence[Report], target: Target, several: bool = False
) -> None:
    """Write reports in one form. Raises Refused if that fails."""
    text = ""
    with writing(target):
        if target.path == "-" and output.text is not None:
            text = output.text(reports, several)
        else:
            write_output(output, reports, target.path, several)
    if text:
        say(text)


@contextmanager
def writing(target: Target) -> Iterator[None]:
    """Make Refused of what writing a form to a target raises."""
    try:
        yield
    except (OSError, ImportError, ValueError, RuntimeError) as error:
        # The core's OSError, about the trace, has no number, and says what to do.
        if isinstance(error, OSError) and error.errno is not None:
            raise Refused(target.unwritable(error)) from error
        raise Refused(f"--{target.option} {target.path}: {error}") from error
