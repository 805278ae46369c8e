#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
""".ci/write_schema.py [--write]: compares the JSON schemas with the records.

A record of the core (cpp/pipeline/records.h, cpp/pipeline/ranks/job_result.h) is
described by its own rows. The rest, such as the report's own members and those of the
detector and the second opinion, is written by hand in the schema files, and kept.
Without ``--write`` the exit code is 1 if a file differs from the records.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from torchtraceap import _core

PACKAGE = Path(__file__).parent.parent / "python/torchtraceap"
OF_REPORT = (
    *("Location", "Event", "Unexplained", "Label", "Window", "Finding", "Device"),
    *("Simulated", "TraceFacts", "Note", "Quality", "Balance", "Step", "Stage"),
    *("RuleOutcome", "Gain", "Recomputed", "Fidelity", "PathPlace", "CriticalPath"),
    *(
        "Recovery",
        "Thread",
        "AnswerRow",
        "Answer",
        "RooflineRow",
        "Utilization",
        "CollectiveRate",
        "EngineKind",
        "EngineStep",
    ),
    *("Graph", "GraphPart"),
    *("Memory", "MemoryHolder", "MemoryGrowth", "MemoryPoint"),
)
OF_JOB = (
    *("Location", "Note", "RankRow", "RankFinding", "Late", "Arrival", "JobFacts"),
    *("JoinedCollective", "CollectiveRow", "Culprit", "LateRank", "SharedFinding"),
    "DecodeSkew",
    *("JobAnswerRow", "JobAnswer"),
)
SCHEMAS = {"report.schema.json": OF_REPORT, "job.schema.json": OF_JOB}
RECORDS = frozenset(OF_REPORT) | frozenset(OF_JOB)
PATTERN = {"$ref": "#/$defs/pattern"}
# Members with fewer values than their type allows.
NARROWER: dict[str, dict[str, Any]] = {
    "Label.pattern": PATTERN,
    "Finding.pattern": PATTERN,
    "RuleOutcome.rule": PATTERN,
    "RankFinding.pattern": PATTERN,
    "Culprit.what": {"enum": ["rank", "stage", "kind"]},
    "Culprit.gain_us": {"type": "number"},
    "Culprit.gain_low_us": {"type": "number"},
    "Culprit.gain_high_us": {"type": "number"},
    "Culprit.share": {"type": "number"},  # above 1 if other causes offset it
    "RankRow.gain_us": {"type": "number"},
    "RankRow.clock_shift_us": {"type": "number"},
    "Late.gain_us": {"type": "number"},
    "Late.gain_low_us": {"type": "number"},
    "Late.gain_high_us": {"type": "number"},
    "LateRank.gain_us": {"type": "number"},
    "JobFacts.late_gain_us": {"type": "number"},
    "JobFacts.late_gain_low_us": {"type": "number"},
    "JobFacts.late_gain_high_us": {"type": "number"},
    "Finding.docs": {"type": "string", "pattern": r"^docs/.+\.md$"},
    "Stage.id": {"enum": ["busy", "idle", "limit", "work", "overlap", "gain"]},
}
# Members that a report adds to a record, and those that it has in another place.
ADDED: dict[str, dict[str, Any]] = {
    "Window": {
        "recoverable_fraction": {
            "description": "Share of it that fixing all findings saves; null if there "
            "is no replay.",
            "anyOf": [{"$ref": "#/$defs/share"}, {"type": "null"}],
        }
    },
    "TraceFacts": {
        "span_us": {
            "description": "Length of the analyzed time.",
            "$ref": "#/$defs/length_us",
        },
        "steps": {
            "description": "How many steps the profiler marked.",
            "$ref": "#/$defs/count",
        },
        "quality": {"$ref": "#/$defs/quality"},
    },
    "Recovery": {
        "critical_paths": {
            "description": "What bounds the trace (step null), then each step.",
            "type": "array",
            "items": {"$ref": "#/$defs/critical_path"},
        }
    },
}
ELSEWHERE = {"Balance": {"unattributed_us"}, "Recovery": {"gains", "windows"}}


def definition(name: str) -> str:
    """Return the name of a record in ``$defs``: ``critical_path``."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def member(record: str, name: str, kind: str) -> dict[str, Any]:
    """Return the schema of a member, of the kind that ``fields`` gives."""
    if kind.endswith("?"):
        return {"anyOf": [member(record, name, kind[:-1]), {"type": "null"}]}
    if kind.endswith("*"):
        return {"type": "array", "items": member(record, name, kind[:-1])}
    if narrower := NARROWER.get(f"{record}.{name}"):
        return narrower
    if kind.endswith("{}"):
        values = {"type": "number", "minimum": 0}
        return {"type": "object", "additionalProperties": values}
    if kind in RECORDS:
        return {"$ref": f"#/$defs/{definition(kind)}"}
    if "|" in kind:
        return {"enum": kind.split("|")}
    if kind == "float":
        if re.search(r"(fraction|share|probability|rate|^windows)$", name):
            return {"$ref": "#/$defs/share"}
        is_length = name.endswith("us") and not re.search(
            r"(start|begin|end|\bat|_at)_us$", name
        )
        return {"$ref": "#/$defs/length_us"} if is_length else {"type": "number"}
    return {
        "text": {"type": "string"},
        "int": {"type": "integer"},
        "count": {"$ref": "#/$defs/count"},
        "bool": {"type": "boolean"},
        "identity": {"$ref": "#/$defs/identity"},
    }[kind]


def described(name: str) -> dict[str, Any]:
    """Return the schema of a record."""
    record = getattr(_core, name)
    members = {}
    for field, kind, doc in _core.fields(record):
        if field in ELSEWHERE.get(name, ()):
            continue
        members[field] = {"description": doc, **member(name, field, kind)}
    if name == "Balance":  # In a report, unattributed time is one of the causes.
        members["idle_us"] |= {
            "required": ["unattributed"],
            "propertyNames": {"$ref": "#/$defs/pattern"},
        }
    if name == "Recovery":
        members["refusal"] = {
            "description": "Why no gains are given; null if the replay is reliable.",
            "type": ["string", "null"],
        }
    members |= ADDED.get(name, {})
    return {
        "description": record.__doc__,
        "type": "object",
        "required": list(members),
        "properties": members,
    }


def main() -> int:
    """Compare or write the files, and return the exit code."""
    stale = False
    for file, records in SCHEMAS.items():
        path = PACKAGE / file
        text = path.read_text("utf-8")
        schema = json.loads(text)
        for name in records:
            schema["$defs"][definition(name)] = described(name)
        new = json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
        if "--write" in sys.argv[1:]:
            path.write_text(new, "utf-8")
        elif new != text:
            print(f"{file} differs from the records: run make stubs")
            stale = True
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
