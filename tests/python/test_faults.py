# SPDX-License-Identifier: BSD-3-Clause
"""test_faults.py: each fault of the catalogue ends as it must, recovering and not.

A fault is a file that profilers, disks or people have been seen to produce. faults/
makes them and states what must come of each; nothing there is read off the loader.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.views.inspection import inspect_trace

from .catalogue import VARIANTS, name_of
from .faults.base import BASES, synthetic
from .faults.variant import Base, Loads, Refused, Variant

# Kinds that are about a file as a whole have no place inside it.
NO_PLACE = {"empty", "not_a_trace", "not_json", "html", "utf16", "git_lfs", "pickle"}
NO_PLACE |= {"torch_save", "sqlite", "zip", "zstd", "xz", "bzip2", "nested_gzip"}


def cases() -> Iterator[Any]:
    """Every variant on the small base, and one of each fault on the real one."""
    on_real = {variant.fault: variant for variant in VARIANTS[::-1]}
    for base in BASES:
        for variant in VARIANTS if base is synthetic else on_real.values():
            for recover in (False, True):
                mode = "recover" if recover else "default"
                name = f"{base.__name__}-{name_of(variant)}-{mode}"
                yield pytest.param(variant, base, recover, id=name)


@pytest.mark.parametrize(("variant", "base", "recover"), list(cases()))
def test_fault(variant: Variant, base: Callable[[], Base], recover: bool) -> None:
    made = variant.make(base())
    options = {**variant.options, **({"recover": True} if recover else {})}
    outcome = variant.outcome(recover)
    if isinstance(outcome, Refused):
        with pytest.raises(torchtraceap.TraceError) as caught:
            torchtraceap.load(made.content, **options)
        check_refusal(caught.value, outcome)
        return
    trace = torchtraceap.load(made.content, **options)
    facts = inspect_trace(trace)
    check_warnings(facts["warnings"], outcome)
    if made.facts is not None:
        expected = vars(made.facts)
        assert {key: facts[key] for key in expected} == expected
    strings = set(trace.strings) if made.names else set()
    assert strings.issuperset(made.names)
    if recover == bool(variant.recovered):  # Else it was analyzed the other way.
        report = torchtraceap.analyze(trace).to_dict()
        assert report["trace"]["events"] == facts["events"]


def check_refusal(error: torchtraceap.TraceError, outcome: Refused) -> None:
    """Check that a refusal can be acted on: what, where, why, and what to do."""
    text = str(error)
    assert isinstance(error, ValueError) and type(error).__module__ == "torchtraceap"
    assert error.path == "<bytes>" and error.kind == outcome.kind, text
    assert outcome.says.lower() in text.lower()
    assert 15 <= len(text) <= 2000 and text.isascii() and text.isprintable()
    assert text.startswith(f"{error.path}: ") and text.endswith(error.hint)
    assert error.hint[-1] in ".?"
    placed = error.offset is not None and f"byte {error.offset}" in text
    assert placed or error.kind in NO_PLACE
    if error.event is not None:
        assert f"traceEvents[{error.event}]" in text


def check_warnings(warnings: list[dict], outcome: Loads) -> None:
    """Check which kinds were counted, and how often where that is known."""
    seen = {warning["kind"]: warning["count"] for warning in warnings}
    assert all(count > 0 for count in seen.values())
    if outcome.some:
        assert seen
        return
    known = {
        kind: seen.get(kind) if n is None else n for kind, n in outcome.warnings.items()
    }
    assert seen == known, [warning["detail"] for warning in warnings]


def test_no_fault_is_forgotten() -> None:
    """F67 is below; F78 to F80 are about what no file holds."""
    made = {variant.fault for variant in VARIANTS}
    assert made == {f"F{n:02}" for n in range(1, 78) if n != 67}


def test_names_of_variants_are_their_own() -> None:
    names = [name_of(variant) for variant in VARIANTS]
    assert len(names) == len(set(names)) > 200


@pytest.mark.slow
@pytest.mark.skipif(
    not os.environ.get("TORCHTRACEAP_LARGE"), reason="TORCHTRACEAP_LARGE is not set"
)
def test_text_beyond_four_gib(tmp_path: Path) -> None:
    """F67: the text is 4.5 GiB, in a gzip of members that are all alike."""
    event = '{"ph": "X", "name": "a", "ts": 7, "dur": 2, "args": {"a": "%s"}}'
    events = ",\n".join([event % ("x" * 8_000)] * 8_192)
    member = gzip.compress(events.encode() + b",\n", 6)
    times = 70
    path = tmp_path / "large.json.gz"
    with path.open("wb") as file:
        file.write(gzip.compress(b'{"traceEvents": ['))
        for _ in range(times):
            file.write(member)
        file.write(
            gzip.compress(b'{"ph": "X", "name": "last", "ts": 9, "dur": 0.001}]}')
        )
    trace = torchtraceap.load(path, max_ratio=float("inf"))
    facts = inspect_trace(trace)
    count = times * 8_192 + 1
    assert facts["text_bytes"] > 2**32
    assert (facts["events"], facts["x"]) == (count, count)
    assert facts["sum_dur_ns"] == 2_000 * (count - 1) + 1
    assert not facts["warnings"]
    assert trace.name(count - 1) == "last"
    assert len(trace.read_args([count - 2])[0]) == 8_000 + len('{"a": ""}')
