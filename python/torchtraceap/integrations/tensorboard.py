# SPDX-License-Identifier: BSD-3-Clause
"""tensorboard.py: reports in TensorBoard: scalars and a text.

TensorBoard shows no HTML: its text is Markdown of which it keeps no scripts, styles or
SVG, so a report's page does not fit. The summary does, with the table of findings.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import Any

from torchtraceap.base.arguments import of_type
from torchtraceap.integrations.destination import (
    PREFIX,
    Destination,
    rank_of,
    tag,
)
from torchtraceap.integrations.extra import of_extra
from torchtraceap.integrations.metrics import Value
from torchtraceap.report import Report


class TensorBoard(Destination):
    """Writes reports where TensorBoard shows them, as scalars and text::

        torchtraceap.profile(callbacks=TensorBoard(writer))
        with TensorBoard("runs/profile") as board:
            board(report)

    Args:
        where: A SummaryWriter of yours, which is neither closed nor moved, or a folder.
            In a folder a writer of its own is opened with the first report; give it one
            that nothing else writes to, as TensorBoard reads only the newest file of a
            folder. Each of several ranks is a run in it (``rank1``).
        step: Returns the step that a report is shown at, such as
            ``lambda: trainer.global_step``. None: the last one that was recorded.

    Raises:
        ImportError: tensorboard or torch is not installed; the message names the extra.
        TypeError: ``where`` is neither.
    """

    def __init__(
        self,
        where: str | os.PathLike[str] | Any = "runs/torchtraceap",
        *,
        step: Callable[[], int] | None = None,
    ) -> None:
        super().__init__(step)
        self._folder: str | None = None
        self._given: Any = None
        self._own: dict[int | None, Any] = {}  # by the rank whose reports they take
        if isinstance(where, str | os.PathLike):
            self._folder = os.fspath(where)
            with of_extra("tensorboard"):
                import tensorboard  # noqa: F401
        elif hasattr(where, "add_scalar") and hasattr(where, "add_text"):
            self._given = where
        else:
            raise TypeError(
                "where must be a folder or a SummaryWriter, but is " + of_type(where)
            )

    def close(self) -> None:
        """Close the writers that this has opened; one of yours stays open."""
        for writer in self._own.values():
            writer.close()
        self._own.clear()

    def _write(self, report: Report, values: Sequence[Value], step: int) -> None:
        writer = self._writer_for(rank_of(report))
        for value in values:
            writer.add_scalar(tag(value), value.value, step)
        writer.add_text(f"{PREFIX}/findings", _shown(report.to_markdown()), step)
        writer.flush()

    def _writer_for(self, rank: int | None) -> Any:
        if self._folder is None:
            return self._given
        if rank not in self._own:
            with of_extra("tensorboard"):
                from torch.utils.tensorboard import SummaryWriter
            inner = "" if rank is None else f"rank{rank}"
            self._own[rank] = SummaryWriter(os.path.join(self._folder, inner))
        return self._own[rank]


def _shown(markdown: str) -> str:
    """Open what is folded: TensorBoard shows all tags of HTML as text."""
    head = re.compile(r"^<details><summary>(.*)</summary>$", re.MULTILINE)
    return head.sub(r"**\1**", markdown).replace("\n</details>", "")
