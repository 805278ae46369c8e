# SPDX-License-Identifier: BSD-3-Clause
"""test_faults_program.py: ``torchtraceap inspect FILE --json`` on every fault.

It exits with 0 and one JSON object, or with 2 and a message that can be acted on; never
with a traceback, and it leaves nothing behind.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from torchtraceap.cli import main

from .catalogue import VARIANTS, name_of
from .faults.base import synthetic
from .faults.variant import Outcome, Refused, Variant

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]
FILES = [variant for variant in VARIANTS if not variant.options]


def one_of_each_kind() -> list[Variant]:
    """Return the first variant of each way to end, for whole processes take time."""
    seen: dict[str, Variant] = {}
    for variant in FILES:
        outcome = variant.expected
        kinds = [outcome.kind] if isinstance(outcome, Refused) else outcome.warnings
        for kind in kinds or ["loads"]:
            seen.setdefault(kind.split("_")[0], variant)
    return [*{id(variant): variant for variant in seen.values()}.values()]


def check_ending(
    variant: Variant, outcome: Outcome, code: int, out: str, err: str
) -> None:
    assert "Traceback" not in err
    if isinstance(outcome, Refused):
        assert code == 2 and not out
        assert 15 <= len(err.strip()) <= 2000
        assert "odd.json: " in err and outcome.says.lower() in err.lower()
        return
    assert code == 0
    got = json.loads(out.splitlines()[-1])
    if (made := variant.make(synthetic())).facts is not None:
        assert {key: got[key] for key in vars(made.facts)} == vars(made.facts)
    if not outcome.some:
        assert {warning["kind"] for warning in got["warnings"]} == set(outcome.warnings)


@pytest.mark.parametrize("variant", FILES, ids=name_of)
def test_inspect(
    variant: Variant, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "odd.json"
    path.write_bytes(variant.make(synthetic()).content)
    for options in ([], ["--recover"]) if variant.recovered else ([],):
        outcome = variant.outcome(recover=bool(options))
        code = main(["inspect", str(path), "--json", *options])
        check_ending(variant, outcome, code, *capsys.readouterr())
    assert os.listdir(tmp_path) == ["odd.json"]


@pytest.mark.parametrize("variant", one_of_each_kind(), ids=name_of)
def test_a_process(variant: Variant, tmp_path: Path, program: Run) -> None:
    path = tmp_path / "odd.json"
    path.write_bytes(variant.make(synthetic()).content)
    result = program("inspect", path, "--json", cwd=tmp_path)
    out, err = result.stdout.decode(), result.stderr.decode()
    check_ending(variant, variant.expected, result.returncode, out, err)
    assert os.listdir(tmp_path) == ["odd.json"]


def test_what_is_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pipe").symlink_to(os.devnull)
    for name in ("", "absent.json", "absent/trace.json", "pipe", "a\nb", "x" * 5_000):
        assert main(["inspect", str(tmp_path / name), "--json"]) == 2
        out, err = capsys.readouterr()
        assert not out and "Traceback" not in err
        assert 15 <= len(err.strip()) <= 2000 and len(err.splitlines()) == 1
