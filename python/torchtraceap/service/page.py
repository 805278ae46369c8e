# SPDX-License-Identifier: BSD-3-Clause
"""page.py: the page to drop traces on, which shows their report below."""

from __future__ import annotations

from torchtraceap.base.units import counted
from torchtraceap.service.settings import Settings
from torchtraceap.views.html import job_page, page
from torchtraceap.views.html.document import document


def drop_page(settings: Settings) -> str:
    """Return the page of a server; the same for every client."""
    facts = [
        f"up to {settings.upload_bytes / 1e6:,.0f} MB",
        f"up to {settings.seconds:g} s",
        f"{counted(settings.workers, 'analysis', 'analyses')} at a time",
    ]
    values = {
        "name": "Analyze traces",
        "facts": facts,
        "needs_token": settings.token is not None,
    }
    return document(
        "drop.html",
        values,
        ("viewer.js", "drop_page.js"),
        "",
        shows=(page.SCRIPTS, job_page.SCRIPTS),
    )
