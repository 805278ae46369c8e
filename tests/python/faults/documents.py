# SPDX-License-Identifier: BSD-3-Clause
"""faults/documents.py: F06-F08, documents that are not a trace, or two."""

from __future__ import annotations

from .build import alone, encoded, text, x
from .variant import Facts, Made, Refused, Variant, alike, warns

V = Variant
NOT_A_TRACE = Refused("not_a_trace")
LINES = '{"ph": "X", "name": "a", "ts": 1, "dur": 2}\n' * 3
LIST = Facts(2, 2, 4_000, 1_000)
# Files that are JSON and no trace, and the word for what each is.
OTHERS = {
    '{"traceEvents": null}': "null",
    '{"traceEvents": {}}': "object",
    '{"traceEvents": "x"}': "text",
    '{"traceEvents": 1}': "number",
    '{"traceEvents": true}': "truth",
    '{"schema": "1.1.0", "nodes": [{"id": 1}]}': "execution trace",
    '{"segments": [], "device_traces": []}': "memory snapshot",
    '{"schema_version": 1, "cannot_know": []}': "--trace-out",
    '{"schema_version": 1, "findings": []}': "report of torchtraceap",
}
LISTED = ", ".join(LINES.splitlines()[:2])


VARIANTS = [
    *alike("F06")(
        a_list=lambda b: Made(encoded("[" + ",".join(b.events) + "]"), b.facts),
    ),
    *alike("F06", warns(unclosed_list=1))(
        a_list_left_open=lambda b: Made(
            encoded("[" + ",\n".join(b.events) + "\n"), b.facts
        ),
    ),
    *alike("F06", Refused("not_a_trace", "one event a line"))(
        an_event_a_line=alone(LINES),
    ),
    V("F06", "a single event", alone(LINES.split("\n")[0]), NOT_A_TRACE),
    V("F07", "other JSON", alone('{"a": [1, 2], "b": {"c": null}}'), NOT_A_TRACE),
    *(
        V("F07", f"no trace, but {says}", alone(text), Refused("not_a_trace", says))
        for text, says in OTHERS.items()
    ),
    V(
        "F07",
        "git-lfs pointer",
        alone("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"),
        Refused("git_lfs", "git lfs pull"),
    ),
    V("F07", "sign-in page", alone("<!DOCTYPE html><html></html>"), Refused("html")),
    V("F07", "protobuf", alone(b"\x0a\x04\x08\x01\x10\x02" * 20), Refused("not_json")),
    V("F07", "CSV", alone("name,ts,dur\na,1,2\n"), Refused("not_json")),
    *alike("F07", Refused("pickle"))(
        pickle=alone(b"\x80\x04\x95\x0b\0\0\0\0\0\0\0}\x94."),
    ),
    *alike("F08", warns(duplicate_key=1))(
        a_member_twice=x(dur='1, "dur": 5'),
        an_id_twice=x(args='{"correlation": 1, "correlation": 2}'),
    ),
    *alike("F08", Refused("two_event_lists"), warns(two_event_lists=1))(
        traceEvents_twice=lambda b: Made(
            encoded(
                b.text()[: b.text().rindex("}")] + ', "traceEvents": [' + LISTED + "]}"
            ),
            b.facts + LIST,
        ),
        an_empty_second_list=text(
            lambda t: t[: t.rindex("}")] + ', "traceEvents": []}'
        ),
    ),
]
