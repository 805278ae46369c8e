# SPDX-License-Identifier: BSD-3-Clause
"""faults/documents.py: F06-F08, documents that are no trace, or two."""

from __future__ import annotations

from .build import alone, encoded, header, text, x
from .variant import Facts, Made, Refused, Variant, warns

V = Variant
NOT_A_TRACE = Refused("not_a_trace")
LINES = '{"ph": "X", "name": "a", "ts": 1, "dur": 2}\n' * 3
LIST = Facts(2, 2, 4_000, 1_000)
LISTED = ", ".join(LINES.splitlines()[:2])


VARIANTS = [
    V(
        "F06",
        "a list",
        lambda b: Made(encoded("[" + ",".join(b.events) + "]"), b.facts),
    ),
    V(
        "F06",
        "a list left open",
        lambda b: Made(encoded("[" + ",\n".join(b.events) + "\n"), b.facts),
        warns(unclosed_list=1),
    ),
    V(
        "F06",
        "a list left open at a comma",
        lambda b: Made(encoded("[" + ",\n".join(b.events) + ",\n"), b.facts),
        warns(unclosed_list=1),
    ),
    V(
        "F06",
        "an event a line",
        alone(LINES),
        Refused("not_a_trace", "one event a line"),
    ),
    V("F06", "a single event", alone(LINES.split("\n")[0]), NOT_A_TRACE),
    V("F06", "a list of other things", alone("[1, 2, 3]"), NOT_A_TRACE),
    V("F07", "no traceEvents", alone("{}"), NOT_A_TRACE),
    V("F07", "other JSON", alone('{"a": [1, 2], "b": {"c": null}}'), NOT_A_TRACE),
    *(
        V(
            "F07",
            f"traceEvents is {value}",
            alone('{"traceEvents": ' + value + "}"),
            Refused("not_a_trace", says),
        )
        for value, says in (
            ("null", "null"),
            ("{}", "object"),
            ('"x"', "text"),
            ("1", "number"),
            ("true", "truth"),
        )
    ),
    V(
        "F07",
        "execution trace",
        alone('{"schema": "1.1.0", "nodes": [{"id": 1}]}'),
        Refused("not_a_trace", "execution trace"),
    ),
    V(
        "F07",
        "memory snapshot",
        alone('{"segments": [], "device_traces": []}'),
        Refused("not_a_trace", "memory snapshot"),
    ),
    V(
        "F07",
        "result of a dry run",
        alone('{"schema_version": 1, "cannot_know": []}'),
        Refused("not_a_trace", "--trace-out"),
    ),
    V(
        "F07",
        "report",
        alone('{"schema_version": 1, "findings": []}'),
        Refused("not_a_trace", "report of torchtraceap"),
    ),
    V(
        "F07",
        "git-lfs pointer",
        alone("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"),
        Refused("git_lfs", "git lfs pull"),
    ),
    V("F07", "sign-in page", alone("<!DOCTYPE html><html></html>"), Refused("html")),
    V("F07", "protobuf", alone(b"\x0a\x04\x08\x01\x10\x02" * 20), Refused("not_json")),
    V(
        "F07",
        "pickle",
        alone(b"\x80\x04\x95\x0b\0\0\0\0\0\0\0}\x94."),
        Refused("pickle"),
    ),
    V("F07", "a word", alone("null"), Refused("not_json")),
    V("F07", "CSV", alone("name,ts,dur\na,1,2\n"), Refused("not_json")),
    V("F08", "a member twice", x(dur='1, "dur": 5'), warns(duplicate_key=1)),
    V(
        "F08",
        "an id twice",
        x(args='{"correlation": 1, "correlation": 2}'),
        warns(duplicate_key=1),
    ),
    V(
        "F08",
        "a top-level key twice",
        header('"traceName": "x"'),
        warns(duplicate_key=1),
    ),
    V(
        "F08",
        "traceEvents twice",
        lambda b: Made(
            encoded(
                b.text()[: b.text().rindex("}")] + ', "traceEvents": [' + LISTED + "]}"
            ),
            b.facts + LIST,
        ),
        Refused("two_event_lists"),
        warns(two_event_lists=1),
    ),
    V(
        "F08",
        "an empty second list",
        text(lambda t: t[: t.rindex("}")] + ', "traceEvents": []}'),
        Refused("two_event_lists"),
        warns(two_event_lists=1),
    ),
]
