# SPDX-License-Identifier: BSD-3-Clause
"""errors.py: the package's exceptions.

They are written in Python, also TraceError, which the core raises
(cpp/bindings/bind_trace.cpp): so their fields have types and they survive pickling, as
between the workers of a pool.
"""

from __future__ import annotations


class TraceError(ValueError):
    """A file or bytes that cannot be read as a profiler trace.

    ``str()`` is the whole message: what is wrong, where, and what to do.

    Attributes:
        path: The file as it was given, ``<bytes>`` for a trace from memory.
        kind: A stable word for the fault, such as ``truncated``.
        hint: What to do, one sentence.
        offset: Byte in the uncompressed text, or None.
        line: Line of that byte, from 1, or None.
        event: Index in ``traceEvents``, or None.
    """

    def __init__(
        self,
        message: str,
        path: str = "",
        kind: str = "",
        hint: str = "",
        offset: int | None = None,
        event: int | None = None,
        line: int | None = None,
    ) -> None:
        super().__init__(message)
        self.path = path
        self.kind = kind
        self.hint = hint
        self.offset = offset
        self.event = event
        self.line = line


def trace_error(path: str, kind: str, cause: str, hint: str) -> TraceError:
    """Return the error that says where, what and what to do."""
    return TraceError(f"{path}: {cause}. {hint}.", path, kind, hint + ".")


class ConfigError(ValueError):
    """Settings, or the definition or name of a rule, that are invalid.

    ``str()`` names the file where there is one, and what is known in place of a name
    that is not.
    """


class RuleError(RuntimeError):
    """A user's own rule raised something, its cause, or gave no sensible claims.

    Attributes:
        rule: The name of the rule.
    """

    def __init__(self, message: str, rule: str = "") -> None:
        super().__init__(message)
        self.rule = rule


class WeightsError(ValueError):
    """A file of weights that is damaged or was trained for another version.

    ``str()`` is the whole message: what is wrong, where, and what to do.
    """


class TrainingError(ValueError):
    """Nothing can be learned from what was given: ``str()`` says why and what to do."""


# Shown in tracebacks under the name that users import.
for _error in (TraceError, ConfigError, RuleError):
    _error.__module__ = "torchtraceap"


class DryRunError(RuntimeError):
    """A dry run that cannot begin, or cannot go on as a GPU would: ``str()`` names the
    operator or the name, why, and what to do."""


class DryRunUnderWay(DryRunError):
    """A dry run that cannot begin, for there is one already."""


class DryRunLimit(DryRunError):
    """A dry run that made more operators, or took longer, than it may.

    Attributes:
        in_options: The message for those who set the limit on the command line.
    """

    def __init__(self, message: str, in_options: str = "") -> None:
        super().__init__(message)
        self.in_options = in_options
