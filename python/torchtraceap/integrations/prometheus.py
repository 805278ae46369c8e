# SPDX-License-Identifier: BSD-3-Clause
"""prometheus.py: the last report as a text file of metrics for Prometheus."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from torchtraceap.base.arguments import checked_int
from torchtraceap.base.files import write_text
from torchtraceap.integrations.destination import (
    PREFIX,
    Destination,
    rank_of,
)
from torchtraceap.integrations.extra import of_extra
from torchtraceap.integrations.metrics import STEP, Value
from torchtraceap.report import Report

_MOST_LINES = 1000


class Prometheus(Destination):
    """Writes each report to a text file, as node_exporter's textfile collector reads
    them::

        torchtraceap.profile(callbacks=Prometheus("textfiles/torchtraceap.prom"))
        Prometheus("textfiles/torchtraceap.prom")(report)

    The file holds the last report, and a reader finds the old one or the new one,
    whole. There are as many series as devices (16) times patterns, and ``lines``
    source lines, the costliest; the rest is the line ``other``. Each of several
    ranks writes its own file (``torchtraceap-rank1.prom``), with the label
    ``rank``.

    Args:
        path: The file, in a folder that is there; the collector reads what ends in
            ``.prom``.
        lines: How many source lines have a series each, 0 to 1000.
        step: Returns the reported step, such as ``lambda: trainer.global_step``.
            None: the last one that was recorded.

    Raises:
        ImportError: prometheus_client is not installed; the message names the extra.
        FileNotFoundError: The folder is not there.
        ValueError, TypeError: ``lines`` is invalid.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        lines: int = 10,
        step: Callable[[], int] | None = None,
    ) -> None:
        super().__init__(step, checked_int("lines", lines, 0, _MOST_LINES))
        with of_extra("prometheus"):
            import prometheus_client
        self._client = prometheus_client
        self._path = os.fspath(path)
        folder = os.path.dirname(self._path) or "."
        if not os.path.isdir(folder):
            raise FileNotFoundError(
                f"the folder {folder} is not there: make it, or name the one that "
                "node_exporter reads (--collector.textfile.directory)"
            )

    def _write(self, report: Report, values: Sequence[Value], step: int) -> None:
        rank = rank_of(report)
        whose = {} if rank is None else {"rank": str(rank)}
        # One of its own: what the program exports besides is not ours to write.
        registry = self._client.CollectorRegistry()
        gauges = {}
        for metric, labels, number in values:
            if (name := metric.full_name) not in gauges:
                gauges[name] = self._client.Gauge(
                    f"{PREFIX}_{name}",
                    metric.help,
                    (*metric.labels, *whose),
                    registry=registry,
                )
            told = dict(zip(metric.labels, labels, strict=True)) | whose
            gauge = gauges[name]
            (gauge.labels(**told) if told else gauge).set(number)
        at = self._client.Gauge(
            f"{PREFIX}_{STEP}", "Where the report stands", (*whose,), registry=registry
        )
        (at.labels(**whose) if whose else at).set(step)
        text = self._client.generate_latest(registry).decode()
        write_text(_of_rank(self._path, rank), text.rstrip("\n"))


def _of_rank(path: str, rank: int | None) -> str:
    stem, suffix = os.path.splitext(path)
    return path if rank is None else f"{stem}-rank{rank}{suffix}"
