# SPDX-License-Identifier: BSD-3-Clause
"""test_perfetto.py: the copy of a trace with its findings as tracks."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.cli import main

from .trace_format import badly_nested, mistakes, strict

DATA = Path(__file__).parents[1] / "data"
SOUND = sorted(p for p in DATA.glob("*.json.gz") if not p.name.startswith("truncated"))
CUT = DATA / "truncated-handmade-no-schema.json.gz"


def plain(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def events_of(document: Any) -> list[dict[str, Any]]:
    return document["traceEvents"] if isinstance(document, dict) else document


class Case:
    def __init__(self, path: Path, folder: Path) -> None:
        self.report = torchtraceap.analyze(path)
        self.path = folder / "copy.json"
        self.report.to_perfetto(self.path)
        self.before = json.loads(plain(path))
        self.after = strict(self.path.read_bytes())
        old = len(events_of(self.before))
        self.kept, self.ours = events_of(self.after)[:old], events_of(self.after)[old:]

    @property
    def tracks(self) -> dict[str, list[dict[str, Any]]]:
        """Our slices by the names of their tracks."""
        named = [e for e in self.ours if e["name"] == "thread_name"]
        names = {e["tid"]: e["args"]["name"] for e in named}
        assert len(set(names.values())) == len(names)
        out = defaultdict(list)
        for e in self.ours:
            if e["ph"] == "X":
                out[names[e["tid"]]].append(e)
        return out


@pytest.fixture(scope="module", params=SOUND, ids=lambda path: path.name)
def case(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Case:
    return Case(request.param, tmp_path_factory.mktemp("perfetto"))


def test_everything_of_the_original_is_kept(case: Case) -> None:
    assert case.kept == events_of(case.before)
    if isinstance(case.before, dict):
        rest = {key: case.after[key] for key in case.after if key != "traceEvents"}
        assert rest == {k: v for k, v in case.before.items() if k != "traceEvents"}


def test_our_events_follow_the_format(case: Case) -> None:
    assert list(mistakes(case.ours)) == []
    assert list(badly_nested(case.ours)) == []
    assert {e["ph"] for e in case.ours} <= set("MXC")
    theirs = {e.get("pid") for e in case.kept}
    assert len({e["pid"] for e in case.ours}) == 1
    assert case.ours[0]["pid"] not in theirs
    # And no mistakes but those that were there.
    assert Counter(mistakes(case.kept)) == Counter(mistakes(events_of(case.before)))


def test_the_copy_says_the_same(case: Case) -> None:
    again = torchtraceap.analyze(case.path)
    assert again.findings == case.report.findings
    assert again.quality == case.report.quality
    assert again.balance == case.report.balance
    assert again.windows == case.report.windows
    assert again.steps == case.report.steps
    assert again.threads == case.report.threads


def near(us: float) -> Any:
    """A time of day as a float of microseconds."""
    return pytest.approx(us, abs=0.5, rel=0)


def test_windows_are_slices_with_their_labels(case: Case) -> None:
    slices = [
        e for name, es in case.tracks.items() if name.endswith(": windows") for e in es
    ]
    assert len(slices) == len(case.report.windows)
    for e, window in zip(slices, case.report.windows, strict=True):
        assert (e["ts"], e["dur"]) == (near(window.start_us), near(window.duration_us))
        args = e["args"]
        assert args["window"] == window.index
        assert args["wasted_us"] == pytest.approx(window.wasted_us, abs=1e-3)
        assert args.get("step") == window.step
        assert args["gpu_score"] == pytest.approx(window.gpu_score, abs=1e-4)
        assert list(args["labels"]) == [label.pattern for label in window.labels]
        for label in window.labels:
            assert f"{label.pattern} {100 * label.score:.1f} %" in e["name"]
            shown = args["labels"][label.pattern]
            assert shown["wasted_us"] == pytest.approx(label.wasted_us, abs=1e-3)


def test_the_slices_of_a_finding_are_its_wasted_time(case: Case) -> None:
    lost: defaultdict[str, float] = defaultdict(float)
    seen = {}
    for name, slices in case.tracks.items():
        if name.endswith(": windows"):
            continue
        for e in slices:
            assert name.endswith(": " + e["args"]["pattern"])
            lost[e["args"]["id"]] += e["dur"]
            seen[e["args"]["id"]] = e
    assert set(seen) == {f.id for f in case.report.findings}
    for f in case.report.findings:
        assert lost[f.id] == pytest.approx(f.wasted_us, abs=0.01)
        args = seen[f.id]["args"]
        assert args["message"] == f.message
        assert args["advice"] == f.advice
        assert args.get("subtype", "") == f.subtype
        assert args["wasted_us"] == f.wasted_us
        assert args.get("recoverable_us") == f.recoverable_us
        if f.location:
            assert str(f.location) in seen[f.id]["name"]


def counters(case: Case, ending: str) -> dict[str, list[dict[str, Any]]]:
    out = defaultdict(list)
    for e in case.ours:
        if e["ph"] == "C" and e["name"].endswith(ending):
            out[e["name"]].append(e)
    return out


def test_idle_by_cause_adds_up_to_the_balance(case: Case) -> None:
    found = counters(case, ": idle by cause (%)")
    if case.report.quality.verdict == "unusable":
        assert not found
        return
    assert len(found) == len(case.report.balance)
    facts = case.report.trace
    for (_, changes), balance in zip(found.items(), case.report.balance, strict=True):
        area: defaultdict[str, float] = defaultdict(float)
        ends = [e["ts"] for e in changes[1:]] + [facts.end_us]
        for e, end in zip(changes, ends, strict=True):
            assert sum(e["args"].values()) <= 100.1
            for cause, percent in e["args"].items():
                area[cause] += percent / 100 * (end - e["ts"])
        shares = {**balance.idle_us, "unattributed": balance.unattributed_us}
        if balance.device is None:  # Nothing tells when; it has no finding.
            shares["unattributed"] += shares.pop("profiler_artifact")
        for cause, us in shares.items():
            assert area[cause] == pytest.approx(us, abs=2e-3 * facts.span_us)


def test_launches_waiting_are_those_called_and_not_started(case: Case) -> None:
    found = counters(case, ": launches waiting")
    devices = [d.id for d in case.report.trace.devices]
    assert set(found) <= {f"GPU {d}: launches waiting" for d in devices}
    for changes in found.values():
        times = [e["ts"] for e in changes]
        assert times == sorted(times)
        depths = [e["args"]["launches"] for e in changes]
        assert min(depths) >= 0
        assert depths[-1] == 0 or len(depths) > 1


def test_launches_waiting_by_hand(tmp_path: Path) -> None:
    def event(cat: str, ts: int, dur: int, correlation: int) -> dict[str, Any]:
        device = {"device": 0, "stream": 7} if cat == "kernel" else {}
        return {
            "ph": "X",
            "cat": cat,
            "name": "cudaLaunchKernel" if cat == "cuda_runtime" else "k",
            "pid": 0 if device else 5,
            "tid": 7 if device else 5,
            "ts": ts,
            "dur": dur,
            "args": {"correlation": correlation, **device},
        }

    rows = []
    for i, start in enumerate((20, 120, 220)):
        rows += [event("cuda_runtime", 10 * i, 4, i + 1)]
        rows += [event("kernel", start, 100, i + 1)]
    trace = tmp_path / "trace.json"
    trace.write_text(json.dumps({"traceEvents": rows}))
    shown = Case(trace, tmp_path)
    (changes,) = counters(shown, ": launches waiting").values()
    depth = {e["ts"]: e["args"]["launches"] for e in changes}

    def at(when: float) -> int:
        return depth[max(ts for ts in depth if ts <= when)]

    assert [at(when) for when in (5, 15, 50, 130, 230)] == [1, 2, 2, 1, 0]


HOSTILE = '</script><script>alert(1)</script>"\\\u202e\u0000\n\U0001f680'


@pytest.mark.parametrize("form", ["object", "list", "empty", "odd", "bytes"])
def test_other_forms_and_hostile_names(form: str, tmp_path: Path) -> None:
    events = [
        {"ph": "X", "cat": HOSTILE, "name": HOSTILE, "ts": 1, "dur": 5, "pid": "a"},
        {"ph": "X", "cat": "cpu_op", "name": HOSTILE, "ts": 2.5, "dur": 900, "pid": 1},
        {"ph": "b", "name": "x", "id": "0x1", "pid": 1_000_000_000, "ts": 3, "zz": 1},
    ]
    document: Any = {"traceEvents": [] if form == "empty" else events, "more": HOSTILE}
    if form == "list":
        document = events
    text = json.dumps(document).encode()
    if form == "odd":
        text = text.replace(b'"zz": 1', b'"zz": NaN')
        document["traceEvents"][2]["zz"] = None
    path = tmp_path / "trace.json"
    path.write_bytes(text)
    report = torchtraceap.analyze(text if form == "bytes" else path)
    report.to_perfetto(tmp_path / "copy.json")
    after = strict((tmp_path / "copy.json").read_bytes())
    old = events_of(document)
    assert events_of(after)[: len(old)] == old
    ours = events_of(after)[len(old) :]
    assert ours
    assert list(mistakes(ours)) == []
    assert {e["pid"] for e in ours} == {1_000_000_001 if old else 1_000_000_000}


def test_what_could_be_read_of_a_damaged_trace(tmp_path: Path) -> None:
    report = torchtraceap.analyze(CUT, recover=True)
    report.to_perfetto(tmp_path / "copy.json")
    after = strict((tmp_path / "copy.json").read_bytes())
    assert list(mistakes(after["traceEvents"])) == []
    again = torchtraceap.analyze(tmp_path / "copy.json")
    assert again.trace.events > report.trace.events
    assert again.findings == report.findings
    rows = report._trace.columns
    names = [e["name"] for e in after["traceEvents"]][: report.trace.events]
    assert names == [report._trace.name(i) for i in range(len(rows["ts"]))]


def test_a_part_of_a_trace_gives_a_copy_of_the_whole(tmp_path: Path) -> None:
    path = DATA / "kineto2021-v100-resnet50-workers4.json.gz"
    report = torchtraceap.analyze(path, categories=["kernel", "cuda_runtime"])
    report.to_perfetto(tmp_path / "copy.json")
    before, after = (
        json.loads(plain(path)),
        strict((tmp_path / "copy.json").read_bytes()),
    )
    old = events_of(before)
    assert events_of(after)[: len(old)] == old


def test_compressed_copies(slow_loader: torchtraceap.Report, tmp_path: Path) -> None:
    slow_loader.to_perfetto(tmp_path / "a.json")
    slow_loader.to_perfetto(tmp_path / "a.json.gz")
    assert (
        gzip.decompress((tmp_path / "a.json.gz").read_bytes())
        == (tmp_path / "a.json").read_bytes()
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.json", "a.json.gz"]


def test_a_byte_order_mark_is_left_out(tmp_path: Path) -> None:
    """RFC 8259 forbids it, and strict readers refuse it."""
    trace = tmp_path / "trace.json"
    trace.write_bytes(b"\xef\xbb\xbf" + plain(DATA / "mi250-rocm62-tiny.json.gz"))
    report = torchtraceap.analyze(trace)
    for name in ("copy.json", "copy.json.gz"):
        report.to_perfetto(tmp_path / name)
        copy = plain(tmp_path / name)
        old = events_of(json.loads(trace.read_text("utf-8-sig")))
        assert copy.lstrip()[:1] == b"{" and events_of(strict(copy))[: len(old)] == old


NAMES = ["copy.json", "copy.json.gz"]


def test_files_that_nobody_named_are_left_alone(tmp_path: Path) -> None:
    """Neither the trace nor anything else that is called nearly as the copy."""
    trace = tmp_path / "run.gz.plain"
    trace.write_bytes((DATA / "mi250-rocm62-tiny.json.gz").read_bytes())
    mine = [tmp_path / f"run{end}" for end in (".gz.part", ".gz.tmp", ".plain", "")]
    for path in mine:
        path.write_text("mine")
    before = {path: path.read_bytes() for path in (trace, *mine)}
    target = tmp_path / "run.gz"
    assert main(["analyze", str(trace), "--quiet", "--perfetto", str(target)]) == 0
    assert events_of(strict(plain(target)))
    assert set(tmp_path.iterdir()) == {target, *before}
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_is_there_is_replaced_as_itself(
    name: str, slow_loader: torchtraceap.Report, tmp_path: Path
) -> None:
    """Where its link leads, with its permissions; a read-only one is refused."""
    (tmp_path / "links").mkdir()
    link, target = tmp_path / "links" / name, tmp_path / f"far.{name}"
    link.symlink_to(target)
    with pytest.raises(ValueError, match=r": .* leads nowhere") as told:
        slow_loader.to_perfetto(link)
    assert str(told.value).startswith(f"{link}: ")
    target.write_text("old")
    target.chmod(0o640)
    slow_loader.to_perfetto(link)
    assert link.is_symlink() and target.stat().st_mode & 0o777 == 0o640
    assert events_of(strict(plain(target)))
    target.write_text("old")
    target.chmod(0o440)
    with pytest.raises(ValueError, match="cannot be written: it is read-only"):
        slow_loader.to_perfetto(link)
    assert target.read_text() == "old"
    assert set(tmp_path.rglob("*")) == {link, link.parent, target}


def test_a_new_copy_is_as_open_as_any_new_file(
    slow_loader: torchtraceap.Report, tmp_path: Path
) -> None:
    (tmp_path / "other").write_text("")
    for name in NAMES:
        slow_loader.to_perfetto(tmp_path / name)
        mode = (tmp_path / name).stat().st_mode
        assert mode == (tmp_path / "other").stat().st_mode


@pytest.mark.parametrize("name", NAMES)
def test_a_full_disk_leaves_the_old_file(
    name: str, slow_loader: torchtraceap.Report, tmp_path: Path
) -> None:
    resource = pytest.importorskip("resource")
    target = tmp_path / name
    target.write_text("old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with pytest.raises(ValueError, match="cannot be written: File too lar") as told:
            slow_loader.to_perfetto(target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert str(told.value).startswith(f"{target}: ")
    assert target.read_text() == "old" and list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left")])
def test_what_ends_compressing_leaves_the_old_file(
    error: Any,
    slow_loader: torchtraceap.Report,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    target = tmp_path / "copy.json.gz"
    target.write_text("old")

    def end(*_: object) -> int:
        raise error

    monkeypatch.setattr(gzip.GzipFile, "write", end)
    with pytest.raises((KeyboardInterrupt, ValueError)) as told:
        slow_loader.to_perfetto(target)
    if isinstance(error, OSError):
        assert str(told.value).startswith(f"{target}: cannot be written: No space left")
    assert target.read_text() == "old" and list(tmp_path.iterdir()) == [target]


def test_a_pipe_is_written_to(slow_loader: torchtraceap.Report, tmp_path: Path) -> None:
    for name in NAMES:
        os.mkfifo(tmp_path / name)
        with open(tmp_path / "read", "wb") as out:
            reader = subprocess.Popen(["cat", tmp_path / name], stdout=out)
            slow_loader.to_perfetto(tmp_path / name)
            reader.wait(20)
        data = (tmp_path / "read").read_bytes()
        data = gzip.decompress(data) if name.endswith(".gz") else data
        assert events_of(strict(data))


@pytest.mark.parametrize("name", ["trace.json", "link.json"])
def test_the_trace_itself_is_not_overwritten(name: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(plain(DATA / "mi250-rocm62-tiny.json.gz"))
    (tmp_path / "link.json").symlink_to(path)
    before = path.read_bytes()
    report = torchtraceap.analyze(path)
    with pytest.raises(ValueError, match="the trace itself"):
        report.to_perfetto(tmp_path / name)
    with pytest.raises(ValueError, match="the trace itself"):
        report.perfetto_page(tmp_path / name)
    assert path.read_bytes() == before


def test_a_trace_that_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(plain(DATA / "mi250-rocm62-tiny.json.gz"))
    report = torchtraceap.analyze(path)
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(torchtraceap.TraceError, match="Load the trace again"):
        report.to_perfetto(tmp_path / "copy.json")
    path.unlink()
    with pytest.raises(FileNotFoundError):
        report.to_perfetto(tmp_path / "copy.json.gz")
    assert list(tmp_path.iterdir()) == []


def test_the_program_writes_it(tmp_path: Path, capsys: Any) -> None:
    trace = str(DATA / "mi250-rocm62-tiny.json.gz")
    target = tmp_path / "out.json"
    assert main(["analyze", trace, "--perfetto", str(target)]) == 0
    assert events_of(strict(target.read_bytes()))
    lost = tmp_path / "no" / "x.json.gz"
    assert main(["analyze", trace, "--perfetto", str(lost)]) == 2
    told = capsys.readouterr().err
    assert str(lost) in told and "a file in a folder that exists" in told
    assert "standard output" not in told  # Which this form does not go to.
    assert main(["analyze", trace, "--json", str(lost)]) == 2
    assert "or - for standard output" in capsys.readouterr().err


def test_a_live_profile(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    with torch.profiler.profile() as prof:
        torch.ones(8) @ torch.ones(8)
    report = torchtraceap.analyze(prof)
    report.to_perfetto(tmp_path / "copy.json")
    after = strict((tmp_path / "copy.json").read_bytes())
    assert any(e["name"] == "aten::dot" for e in after["traceEvents"])
    assert list(mistakes(after["traceEvents"])) == []
