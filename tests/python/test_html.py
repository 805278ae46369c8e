# SPDX-License-Identifier: BSD-3-Clause
"""test_html.py: the report as HTML, read by a parser: safe, complete, repeatable."""

from __future__ import annotations

import json
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.base.units import share_text, time_text

from .conftest import Cli
from .real_traces import SOUND
from .trace_builder import frame, named, starved_events, trace_of

SCRIPT = "<script>hacked()</script>"
# What a name could try: markup, ends of attributes, comments and scripts, hidden marks.
HOSTILE = (
    f"{SCRIPT}\"><img src=x onerror=hacked()>' onload=hacked() </title></style>"
    "<!--</script>{{ 7 * 7 }}\u202egnp.js\u2066\x00\x1b[31m\ud800&lt;b&gt;"
)
LONG = "n" * 10_000
ALLOWED_ATTRIBUTES = {
    *("aria-describedby", "aria-label", "aria-labelledby", "aria-live"),
    *("aria-roledescription", "charset", "class", "colspan", "content"),
    *("data-event", "data-finding", "data-v", "height", "hidden", "href"),
    *("http-equiv", "id", "lang", "name", "open", "rel", "role", "scope"),
    *("tabindex", "target", "title", "type", "width", "x", "y"),
}
ALLOWED_TAGS = {
    *("a", "b", "body", "br", "button", "canvas", "caption", "code", "dd", "details"),
    *("div", "dl", "dt", "footer", "g", "h1", "h2", "h3", "head", "header", "html"),
    *("li", "main", "meta", "nav", "noscript", "ol", "output", "p", "pre", "rect"),
    *("script", "section", "span", "style", "summary", "svg", "table", "tbody", "td"),
    *("th", "thead", "title", "tr", "ul"),
}


class Page(HTMLParser):
    """What a document holds."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str | None]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.text = ""
        self._inside: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, name, value) for name, value in attrs]
        self._inside.append(tag)
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        if tag in self._inside:
            while self._inside.pop() != tag:
                pass

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data[:80]}")

    def handle_data(self, data: str) -> None:
        if self._inside and self._inside[-1] == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif not self._inside or self._inside[-1] != "style":
            self.text += data

    def words(self) -> str:
        """Return the text with single blanks."""
        return " ".join(self.text.split())

    def drawn(self) -> dict[str, Any]:
        """Return the data for the script."""
        texts = [t for a, t in self.scripts if a.get("type") == "application/json"]
        data: dict[str, Any] = json.loads(texts[0])
        return data


def hostile_trace(name: str) -> bytes:
    """A loader that keeps a device waiting, all of whose names are `name`."""
    frames = [
        frame(f"{name}.py(7): {name}", 10_000 * n, 9_900, n + 1) for n in range(6)
    ]
    return trace_of(
        named("process_name", name),
        named("thread_name", name),
        *frames,
        *starved_events(6, name, name),
        deviceProperties=[{"id": 0, "name": name}],
        **{name: 1},
    )


@pytest.mark.parametrize(
    "name", [HOSTILE, LONG, LONG + HOSTILE], ids=["markup", "long", "both"]
)
def test_names_add_no_element_and_no_attribute(name: str, tmp_path: Path) -> None:
    path = tmp_path / "<img src=x onerror=hacked()>&.json"
    path.write_bytes(hostile_trace(name))
    hostile = torchtraceap.analyze(path)
    path.write_bytes(hostile_trace("harmless"))
    harmless = torchtraceap.analyze(path)
    assert hostile.findings
    for shown, plain in (
        (hostile.to_html(), harmless.to_html()),
        (hostile._repr_html_(), harmless._repr_html_()),
    ):
        page = Page(shown)
        assert set(page.tags) <= ALLOWED_TAGS
        # Rows of the same event, if names are longer than is shown; captions of places,
        # which a hostile name is not.
        rows = {"tr", "td", "p"}
        counts = {tag: n for tag, n in page.tags.items() if tag not in rows}
        plain_counts = Page(plain).tags
        assert counts == {tag: plain_counts[tag] for tag in counts}
        assert {attribute for _, attribute, _ in page.attributes} <= ALLOWED_ATTRIBUTES
        assert shown.replace("\n", "").isprintable()
        assert len(shown) < len(plain) + 200_000
        # Our script is the same whatever the trace holds.
        assert page.scripts[1:] == Page(plain).scripts[1:]
    if name == HOSTILE:  # Shown as it is, except for invisible parts.
        text = Page(hostile.to_html()).text
        assert HOSTILE.partition("\u202e")[0] + "\\u202egnp.js" in text


def test_nothing_is_fetched_run_or_styled_but_ours(
    slow_loader: torchtraceap.Report,
) -> None:
    page = Page(slow_loader.to_html())
    policies = [v for t, a, v in page.attributes if t == "meta" and v and "src" in v]
    assert len(policies) == 1
    assert policies[0].startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policies[0] and "http" not in policies[0]
    links = [value for _, name, value in page.attributes if name == "href"]
    own = [link for link in links if link and link.startswith("#")]
    assert own and {link.partition("#")[0] for link in links if link} == {
        "",
        "https://ui.perfetto.dev/",  # A link, which the page itself never opens.
    }
    ids = [value for _, name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert {link[1:] for link in own} <= set(ids)
    assert [a.get("type") for a, _ in page.scripts] == ["application/json", None]


def test_the_page_says_what_the_report_says(slow_loader: torchtraceap.Report) -> None:
    report = slow_loader
    words = Page(report.to_html()).words()
    for finding in report.findings:
        assert finding.message in words
        assert finding.advice in words
        assert time_text(finding.wasted_us) in words
        assert str(finding.location or "(no single place)") in words
        for event in finding.events:
            assert event.name in words
            assert f"+{time_text(event.start_us - report.trace.start_us)}" in words
    balance = report.balance[0]
    assert share_text(balance.busy_us, balance.span_us) in words
    for name, us in balance.idle_us.items():
        if us:
            assert f"{name} {time_text(us)} {share_text(us, balance.span_us)}" in words
    for stage in report.story:
        assert stage.question in words
    for kernel in report.kernels:
        assert kernel.name[:150] in words
    for place in report.critical_paths[0].places:
        assert time_text(place.us) in words


def test_tables_are_those_of_the_text(slow_loader: torchtraceap.Report) -> None:
    """Defined once: the page has each figure that plain text has."""
    from torchtraceap.views.cells import table_lines
    from torchtraceap.views.stretches import window_table
    from torchtraceap.views.work_tables import work_tables

    words = Page(slow_loader.to_html()).words()
    tables = [*work_tables(slow_loader), window_table(slow_loader)]
    assert [table.id for table in tables] == [
        *(
            "kernels",
            "copies",
            "operators",
            "roofline",
            "utilization",
            "memory",
            "threads",
            "overlap",
        ),
        "windows",
    ]
    for table in tables:
        lines = list(table_lines(table))
        columns, rows = table.first(10)
        assert table.title in words and len(lines) >= 2 + len(rows)  # A legend.
        for line, row in zip(lines[2:], rows, strict=False):
            figures = [x for x in zip(columns, row, strict=True) if not x[0].width]
            assert "".join(cell.text for _, cell in figures) in words
            assert all(cell.text in line for c, cell in figures if not c.on_page)


def test_gains_are_worded_as_in_text(slow_loader: torchtraceap.Report) -> None:
    shown = Page(slow_loader.to_html()).words()
    notebook = Page(slow_loader._repr_html_()).words()
    markdown = slow_loader.to_markdown()
    text = slow_loader.summary()
    gains = [f for f in slow_loader.findings if f.recoverable_high_us]
    assert any(f.recoverable_low_us for f in gains)
    for finding in gains:
        low, middle, high = (
            time_text(us) if us else "0"
            for us in (
                finding.recoverable_low_us,
                finding.recoverable_us,
                finding.recoverable_high_us,
            )
        )
        gain = f"about {middle} ({low} to {high})"
        assert f"{gain} recoverable" in text
        assert f"{gain} recoverable" in shown and gain in notebook
        assert f"| {gain} |" in markdown
        assert f"Recoverable{gain}, by replay" in shown
    together = slow_loader.recovery.together
    assert together and together.high_us
    middle, high = time_text(together.middle_us), time_text(together.high_us)
    both = f"about {middle} ({time_text(together.low_us)} to {high})"
    assert f"{both}, by replay of" in shown
    assert f": {both} less of" in text


def test_the_bars_are_the_balance(slow_loader: torchtraceap.Report) -> None:
    """Parts of a bar follow one another and fill it; so do the windows of a strip."""
    from torchtraceap.views.html.balance_bars import balance_bars
    from torchtraceap.views.html.window_strip import HEIGHT, window_strip

    (bar,) = balance_bars(slow_loader)
    assert sum(part.us for part in bar.parts) == pytest.approx(bar.span_us)
    end = 0.0
    for part in bar.parts:
        assert part.x == pytest.approx(end)
        end += part.width
    assert end == pytest.approx(100)

    few = torchtraceap.analyze(slow_loader.loaded, max_events=512)
    (lane,) = window_strip(few)
    assert [cell.first for cell in lane.cells] == [w.index for w in few.windows]
    assert sum(cell.width for cell in lane.cells) == pytest.approx(100, abs=0.1)
    for cell, window in zip(lane.cells, few.windows, strict=True):
        filled = sum(block.height for block in cell.blocks) / HEIGHT
        lost = window.wasted_us / window.duration_us
        assert filled == pytest.approx(lost, abs=0.5 * len(window.labels) / HEIGHT)


def test_windows_beyond_number_share_cells(data: Path) -> None:
    from torchtraceap.views.html.window_strip import window_strip

    trace = data / "kineto2021-v100-resnet50-workers4.json.gz"
    report = torchtraceap.analyze(trace, max_events=16)
    assert len(report.windows) > 1000
    (lane,) = window_strip(report)
    assert 100 < len(lane.cells) <= 300
    held = [w for cell in lane.cells for w in range(cell.first, cell.last + 1)]
    assert held == [window.index for window in report.windows]
    assert sum(cell.width for cell in lane.cells) == pytest.approx(100, abs=0.1)
    text = report.to_html()
    assert len(text.encode()) < 1_000_000
    drawn = Page(text).drawn()
    for finding, row in zip(report.findings, drawn["findings"], strict=True):
        shown = {w for c in row["cells"] for w in range(*_held(lane.cells[c]))}
        assert set(finding.windows) <= shown


def _held(cell: Any) -> tuple[int, int]:
    return cell.first, cell.last + 1


def test_every_trace_makes_a_small_page_and_the_same_again() -> None:
    for path in SOUND:
        text = torchtraceap.analyze(path).to_html()
        assert len(text.encode()) < 1_000_000, path
        page = Page(text)
        assert {"main", "nav", "header", "footer", "h1"} <= set(page.tags), path
        assert page.tags["h1"] == page.tags["main"] == 1
        assert torchtraceap.analyze(path).to_html() == text, path


def test_a_report_without_device_says_so(cpu_only: torchtraceap.Report) -> None:
    words = Page(cpu_only.to_html()).words()
    assert "In operators" in words and "Device busy" not in words
    assert "Findings: none on the host;" in words


def test_an_unusable_trace_gets_no_verdict(data: Path) -> None:
    report = torchtraceap.analyze(data / "a100-cupti-range-no-kernels.json.gz")
    for text in (report.to_html(), report._repr_html_()):
        words = Page(text).words()
        assert "unusable" in words
        assert report.quality.reasons[0].detail in words
        assert "none, the trace is unusable" in words


def test_the_notebook_shows_it_without_script(slow_loader: torchtraceap.Report) -> None:
    page = Page(slow_loader._repr_html_())
    assert page.tags["script"] == 0 and page.tags["svg"] == 2
    assert "id" not in {name for _, name, _ in page.attributes}  # Cells share a page.
    words = page.words()
    assert words.index("A fix saves 30 % (17 to 35).") < words.index("75,718 events")
    assert "resnet50_profiler_api.py:42" in words
    assert "dataloader_bound 221 ms 20.8 %" in words
    assert "about 319 ms (177 ms to 378 ms)" in words


def test_the_program_writes_the_page(data: Path, tmp_path: Path, cli: Cli) -> None:
    trace, out = data / "mi250-rocm62-tiny.json.gz", tmp_path / "report.html"
    cli("analyze", trace, "--html", out).fine()
    assert out.read_text("utf-8") == torchtraceap.analyze(trace).to_html() + "\n"
    piped = cli("analyze", trace, "--html", "-").fine()
    assert piped.rstrip().endswith("</html>")
    code, _, err = cli("analyze", trace, trace, "--html", out)
    assert code == 2 and "--html takes one trace" in err
