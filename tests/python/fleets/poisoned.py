# SPDX-License-Identifier: BSD-3-Clause
"""poisoned.py: tasks of a fleet that end as a crash of native code does.

A trace with "poison" in its name ends its process whenever it is analyzed; one with
"unlucky" the first time.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

from torchtraceap.base.children import serve
from torchtraceap.fleets import tasks
from torchtraceap.fleets.items import Item
from torchtraceap.fleets.tasks import Done, FleetPlan


def run_task(item: Item, plan: FleetPlan) -> Done:
    """Analyze an item, or end this process."""
    name = os.path.basename(item.url)
    if "poison" in name:
        os.kill(os.getpid(), signal.SIGSEGV)
    mark = Path(item.files[0].url + ".met")
    if "unlucky" in name and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return tasks.run_task(item, plan)


def main(parent: int) -> None:
    """Be a child of the local pool."""
    serve(parent, lambda plan: lambda item: run_task(item, plan))
