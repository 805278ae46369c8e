# SPDX-License-Identifier: BSD-3-Clause
"""test_perfetto.py: the copy of a trace with its findings as tracks.

How its file is written: test_target_file.py.
"""

from __future__ import annotations

import json
from collections import defaultdict
from html import escape
from http.client import HTTPConnection
from pathlib import Path
from socket import SO_LINGER, SOL_SOCKET, create_connection
from struct import pack
from threading import Thread
from typing import Any
from urllib.parse import parse_qs

import numpy as np
import pytest

import torchtraceap
from torchtraceap._core import TraceFacts
from torchtraceap.cli import main
from torchtraceap.cli.output import Refused
from torchtraceap.cli.perfetto import serve
from torchtraceap.views.perfetto_link import perfetto_link, served_path

from .real_traces import DATA, SOUND
from .trace_builder import launched, trace_of
from .trace_format import badly_nested, events_of, mistakes, plain, strict

LOADER = DATA / "kineto2021-v100-resnet50-workers0-memory.json.gz"
CUT = DATA / "truncated-handmade-no-schema.json.gz"


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


def test_the_copy_says_the_same(case: Case) -> None:
    again = torchtraceap.analyze(case.path)
    for part in ("quality", "balance", "windows", "steps", "threads"):
        assert getattr(again, part) == getattr(case.report, part), part
    assert without_rows(again) == without_rows(case.report)


def without_rows(report: torchtraceap.Report) -> list[dict[str, Any]]:
    """Return the findings without the rows of events: tracks are events, too."""
    findings = [finding.to_dict() for finding in report.findings]
    for finding in findings:
        for event in finding["events"]:
            del event["index"]
    return findings


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
        share = window.gpu_wasted_fraction
        assert args["gpu_wasted_fraction"] == pytest.approx(share, abs=1e-4)
        assert list(args["labels"]) == [label.pattern for label in window.labels]
        for label in window.labels:
            assert f"{label.pattern} {100 * label.saved_fraction:.1f} %" in e["name"]
            shown = args["labels"][label.pattern]
            assert shown["wasted_us"] == pytest.approx(label.wasted_us, abs=1e-3)
            for key in ("wasted_fraction", "saved_fraction"):
                assert shown[key] == pytest.approx(getattr(label, key), abs=1e-4)


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
        assert args.get("subtype") == f.subtype
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


def test_launches_waiting_by_hand(tmp_path: Path) -> None:
    starts = (20, 120, 220)
    rows = [launched(i + 1, 10 * i, start, 100) for i, start in enumerate(starts)]
    trace = tmp_path / "trace.json"
    trace.write_bytes(trace_of(*(event for row in rows for event in row)))
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
    assert without_rows(again) == without_rows(report)
    names = [e["name"] for e in after["traceEvents"]][: report.trace.events]
    in_file = np.argsort(report.loaded.columns["args_offset"])
    assert names == [report.loaded.name(i) for i in in_file]


def test_a_part_of_a_trace_gives_a_copy_of_the_whole(tmp_path: Path) -> None:
    path = DATA / "h100-vit-nsfw-inference.json.gz"
    report = torchtraceap.analyze(path, categories=["kernel", "cuda_runtime"])
    report.to_perfetto(tmp_path / "copy.json")
    before, after = (
        json.loads(plain(path)),
        strict((tmp_path / "copy.json").read_bytes()),
    )
    old = events_of(before)
    assert events_of(after)[: len(old)] == old


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


# --- Served to Perfetto's page --------------------------------------------------------


def ask(port: int, method: str, path: str, **headers: str) -> tuple[int, Any, bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.headers, answer.read()


def test_a_link_leads_to_the_costliest_event() -> None:
    odd = TraceFacts(path="runs/my trace#1.json.gz", events=7, start_ns=-5)
    assert served_path(odd) == "/my%20trace%231-7--5.json"
    report = torchtraceap.analyze(LOADER)
    finding = report.findings[0]
    link = perfetto_link(report.trace, finding)
    page, _, query = link.partition("?")
    values = {name: value for name, (value,) in parse_qs(query).items()}
    assert page == "https://ui.perfetto.dev/#!/"
    assert values["url"] == f"http://127.0.0.1:9001{served_path(report.trace)}"
    (event,) = (
        row
        for row in events_of(json.loads(plain(LOADER)))
        if row.get("ph") == "X"
        and row["name"] == finding.events[0].name
        and round(row["ts"] * 1000) == finding.events[0].start_ns
    )
    begin, length = round(event["ts"] * 1000), round(event["dur"] * 1000)
    # The loader waited 37 ms a batch on average, longer than its longest event.
    around = max(length, finding.wasted_ns // finding.count)
    assert int(values["visStart"]) == begin - around
    assert int(values["visEnd"]) == begin + length + around
    assert f'href="{escape(link)}"' in report.to_html()


def test_a_long_name_has_a_whole_link(tmp_path: Path) -> None:
    path = tmp_path / f"{'trace of a step ' * 8}.json.gz"
    path.write_bytes(LOADER.read_bytes())
    report = torchtraceap.analyze(path)
    assert escape(perfetto_link(report.trace, report.findings[0])) in report.to_html()


def test_a_folder_is_its_only_trace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for rank in range(2):
        row = launched(1, 0, 10, 50)
        where = {"distributedInfo": {"rank": rank, "world_size": 2}}
        (tmp_path / f"rank{rank}.json").write_bytes(trace_of(*row, **where))
    assert main(["perfetto", str(tmp_path)]) == 2
    assert "perfetto takes one trace, but this names several" in capsys.readouterr().err
    (tmp_path / "rank0.json").unlink()  # The other one is of a job of two.
    assert main(["perfetto", str(tmp_path), "--finding", "99"]) == 2
    assert "--finding 99: the report has " in capsys.readouterr().err


def test_the_copy_is_served_to_perfetto_alone(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    report = torchtraceap.analyze(DATA / "mi250-rocm62-tiny.json.gz")
    copy = tmp_path / "copy.json"
    report.to_perfetto(copy)
    with serve(report, str(copy), port=0) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        port, path = server.server_address[1], served_path(report.trace)
        perfetto = {"Origin": "https://ui.perfetto.dev"}
        code, headers, body = ask(port, "GET", path, **perfetto)
        assert (code, body) == (200, copy.read_bytes())
        assert headers["Access-Control-Allow-Origin"] == "https://ui.perfetto.dev"
        code, headers, _ = ask(port, "OPTIONS", path, **perfetto)
        assert code == 204 and headers["Access-Control-Allow-Private-Network"] == "true"
        for odd in (
            {},
            {"Origin": "https://evil.example"},
            perfetto | {"Host": "evil.example"},
        ):
            assert ask(port, "GET", path, **odd)[0] == 404, odd
        assert ask(port, "GET", "/other.json", **perfetto)[0] == 404
        with create_connection(("127.0.0.1", port)) as gone:  # It went away.
            gone.sendall(f"GET {path} HTTP/1.0\r\nOrigin: x\r\n".encode())
            gone.setsockopt(SOL_SOCKET, SO_LINGER, pack("ii", 1, 0))
        with pytest.raises(Refused, match="cannot serve at 127"):
            serve(report, str(copy), port=port)
        server.shutdown()
    assert capfd.readouterr().err == ""


def test_a_finding_that_is_not_there_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["perfetto", str(LOADER), "--finding", "99"]) == 2
    assert "--finding 99: the report has " in capsys.readouterr().err
