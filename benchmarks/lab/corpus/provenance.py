# SPDX-License-Identifier: BSD-3-Clause
"""provenance.py: where numbers come from."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import torch

from benchmarks.lab.pages import processor

# A corpus keeps the output of rules, never of a detector learned from it. This is set
# here because compact.py imports this module: a change of the code that compact.py
# hashes would make it analyze each trace again. Processes that begin here get it too.
os.environ["TORCHTRACEAP_DETECTOR"] = "off"

FOLDER = Path(__file__).resolve().parent
#: What decides of a corpus, from the root of the repository.
_SOURCES = ("benchmarks/lab/corpus", "cpp", "python")


def identity(device: torch.device, scale: str, seed: int) -> dict[str, Any]:
    """Describe what two runs must share for their results to stand side by side."""
    described = {
        "device": device.type,
        "scale": scale,
        "seed": seed,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "cpu": processor(),
        "cpu_cores": os.cpu_count(),
    }
    if device.type == "cuda":
        gpu = torch.cuda.get_device_properties(device)
        described |= {
            "gpu": gpu.name,
            "gpu_multiprocessors": gpu.multi_processor_count,
            "gpu_memory_bytes": gpu.total_memory,
            "gpu_capability": f"{gpu.major}.{gpu.minor}",
            "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version(),
            "driver": driver(),
        }
    return described


def run_facts() -> dict[str, Any]:
    """Describe one start of the program: when, and from which code."""
    return {
        "started": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "commit": output("git", "-C", str(FOLDER), "rev-parse", "HEAD"),
        "source_sha256": source_hash(),
    }


def sources() -> dict[str, Any]:
    """Describe the code as it lies here, and the machine.

    Returns:
        `commit`, None where there is no history; `changed`, whether a source differs
        from that commit or is in none, None if that is unknown; `cpu`.
    """
    git = ("git", "-C", str(FOLDER))
    places = [f":/{place}" for place in _SOURCES]
    # The branch is a line of its own, so that nothing printed means that it failed.
    said = output(*git, "status", "--porcelain", "--branch", "--", *places)
    return {
        "commit": output(*git, "rev-parse", "HEAD"),
        "changed": None if said is None else len(said.splitlines()) > 1,
        "cpu": processor(),
    }


def source_hash() -> str:
    """Hash the scripts themselves: a copy of the tree may come without its history."""
    digest = hashlib.sha256()
    for path in sorted((*FOLDER.rglob("*.py"), *FOLDER.rglob("*.toml"))):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def driver() -> str | None:
    query = "--query-gpu=driver_version"
    return output("nvidia-smi", query, "--format=csv,noheader", "--id=0")


def output(*command: str) -> str | None:
    """Give what ``command`` prints, or None where it is missing or fails."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None
