# SPDX-License-Identifier: BSD-3-Clause
"""tables.py: the report as tables of some form, each made when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Generic, TypeVar

from torchtraceap.table_columns import TABLES, Column

if TYPE_CHECKING:
    from torchtraceap.report import Report

Form = TypeVar("Form")


class Tables(Mapping[str, Form], Generic[Form]):
    """A report's tables by name, ``tables.findings`` or ``tables["findings"]``.

    Each is made when it is first asked for. Times are microseconds, as in the report.
    """

    windows: Form  # One row a window.
    labels: Form  # One row a label; `window` is the index of its window.
    findings: Form  # One row a finding, in their order.
    balance: Form  # One row a device or process; a column `idle_<pattern>_us` each.
    steps: Form  # One row a step, with the columns of `balance`.
    kernels: Form  # One row a kernel, as `Report.kernels`.
    copies: Form  # One row a kind of copy, as `Report.copies`.
    operators: Form  # One row an operator, as `Report.operators`.
    overlap: Form  # One row a device, as `Report.overlap`.
    threads: Form  # One row a thread, as `Report.threads`.
    events: Form  # One row an event of the trace, in the order of `Trace.columns`.

    def __init__(self, report: Report, form: Callable[[list[Column]], Form]) -> None:
        self._report = report
        self._form = form

    def __getattr__(self, name: str) -> Form:
        if name not in TABLES:  # Of a private name too: copy and pickle ask for some.
            there = ", ".join(TABLES)
            raise AttributeError(f"there is no table {name!r}; there are: {there}")
        table = self._form(TABLES[name](self._report))
        vars(self)[name] = table
        return table

    def __getitem__(self, name: str) -> Form:
        if name not in TABLES:
            raise KeyError(name)
        table: Form = getattr(self, name)
        return table

    def __iter__(self) -> Iterator[str]:
        return iter(TABLES)

    def __len__(self) -> int:
        return len(TABLES)

    def __repr__(self) -> str:
        return f"<torchtraceap.Tables: {', '.join(TABLES)}>"
