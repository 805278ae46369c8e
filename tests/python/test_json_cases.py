# SPDX-License-Identifier: BSD-3-Clause
"""test_json_cases.py: what is JSON loads, what is not is never taken in silence.

After the idea of Nicolas Seriot's "Parsing JSON is a minefield", with cases of our own:
each stands as an arg, as a top-level member, as a name if it is a text, and as a whole
document. Python's json, made strict, says what is JSON.
"""

from __future__ import annotations

import json

import pytest

import torchtraceap

from .slow_loader import parse, plain

VALID = rb"""
null | true | false | 0 | -0 | 1 | -1 | 10 | 1234567890 | 0.0 | -0.0 | 1.5 | 0.1
1e1 | 1E1 | 1e+1 | 1e-1 | 1E+1 | 1E-1 | 0e0 | 0e+1 | 0E-1 | 1.0e10 | -1.0E-10
123e65 | 0e1 | -0e1 | 9223372036854775807 | 9223372036854775808
-9223372036854775809 | 1e400 | -1e400 | 1e-400 | 123456789012345678901234567890
0.000000000000000000000000000001 | "" | " " | "a" | "\"" | "\\" | "\/"
"\b\f\n\r\t" | "\u0041" | "\u00e9" | "\uD83D\uDE00" | "\u0000" | "\u001f" | "\uFFFF"
"\u2028\u2029" | "\\u0041" | "\\\"" | "\\\\" | "/*no*/" | "//" | "[" | "]" | "{"
"}" | "," | ":" | "{\"a\":1}" | "'" | "a\u0022b" | "\u005c" | [] | [ ] | [1]
[ 1 , 2 ] | [[]] | [[], []] | [[[[[[]]]]]] | [{}] | [null, true] | [""]
["a", 1, {"b": []}] | {} | { } | {"":0} | {"a":{}} | {"a":[]} | {"a" : 1}
{"a":1,"b":2} | {"a":1,"a":2} | {"\u0061":1} | {"a":{"a":{"a":{}}}} | [-0] | [1e5,2]
[0.5e-5] | ["\ud83d\ude00", "\u00E9"] | {"ts":1,"ph":"M"}
""".replace(b"\n", b" | ").split(b" | ")
VALID += [
    b"[\n\t\r 1\n]",
    b'"\xc3\xa9"',
    b'"\xe2\x82\xac"',
    b'"\xf0\x9f\x98\x80"',
    b'"\x7f"',
    b'"\xef\xbb\xbf"',  # A byte-order mark inside a text is a character.
    b'"\xf4\x8f\xbf\xbf"',
    b"[" * 200 + b"]" * 200,
    b'"' + b"a" * 5000 + b'"',
    b'"' + b"\\\\" * 501 + b'"',
]
INVALID = rb"""
nul | nulll | Null | NULL | tru | truee | True | FALSE | None | NaN | nan | Infinity
-Infinity | inf | undefined | N/A | + | - | +1 | ++1 | --1 | - 1 | -a | 01 | 007
-01 | 1. | .5 | -.5 | 1.e1 | 1..2 | 1.2.3 | 1.-5 | 1e | 1e+ | 1E- | 1ee1 | 1e1.5
0x10 | 0b1 | 0o7 | 1_000 | 1,000 | 1 000 | 1f | 1L | 1e1e1 | 0.1.2 | 12a | 1/2 | $
@ | ? | \u0031 | "a | a" | "a"b" | "a""b" | "a" "b" | 'a' | `a` | "\" | "\x41"
"\a" | "\u" | "\u1" | "\u12" | "\u123" | "\uZZZZ" | "\U00000041" | "\u00 41" | "\'"
"\ud83d\u" | [ | ] | [[] | []] | [1 | 1] | [1, | [,] | [,1] | [1,] | [1,,2] | [1 2]
[1;2] | [1:2] | [1} | (1) | [1, 2 | ["a" | [a] | [1]] | [nul] | [+1] | { | } | {} }
{{} | {,} | {1:1} | {a:1} | {"a"} | {"a":} | {:1} | {"a" 1} | {"a"=1} | {"a"::1}
{"a":1,} | {"a":1,,"b":2} | {"a":1 "b":2} | {"a":1;"b":2} | {'a':1} | {"a":1]
{"a":1 | {"a" | {"a": | {null:1} | {"a":1}} | {"a":{} | {"a":'b'} | /* */ 1
1 /* */ | // 1 | # 1 | <a> | * | ... | {"a":...} | & | ! | 1 = 1 | {"a":NaN} | [.5]
{"a":01}
""".replace(b"\n", b" | ").split(b" | ")
INVALID += [
    b'"\n"',
    b'"\t"',
    b'"\x00"',
    b'"\x1f"',
    b"\x00",
    b"[1\x00]",
    b"[\x0c1]",
    b"[\x0b1]",
    b"\xc2\xa01",  # A no-break space is not white space in JSON.
    b"\xe2\x80\xa8",
    b"\xff",
    b'"\xff"',
    b'"\xc0\xaf"',
    b'"\xed\xa0\x80"',
    b'"\xf5\x80\x80\x80"',
    b'"\xe9"',
    b'"\xe2\x82"',
    b"[\xef\xbb\xbf1]",
    b"1\\",
    b'{"a":1\\}',
]
# What RFC 8259 leaves open: halves of pairs are replaced, with a warning.
HALVES = [
    rb'"\ud800"',
    rb'"\udfff"',
    rb'"\ud800\ud800"',
    rb'"\udc00\ud800"',
    rb'"\ud800a"',
]
HEAD = b'{"ph": "X", "ts": 1, "dur": 2, "name": '


def cases(found: list[bytes]) -> list[bytes]:
    return [case for case in found if case]


def as_arg(case: bytes) -> bytes:
    event = HEAD + b'"a", "args": {"v": ' + case + b', "w": 1}}'
    return b'{"traceEvents": [' + event + b", " + HEAD + b'"b"}]}'


def as_member(case: bytes) -> bytes:
    return b'{"v": ' + case + b', "traceEvents": [' + HEAD + b'"a"}], "w": 1}'


def as_name(case: bytes) -> bytes:
    return b'{"traceEvents": [' + HEAD + case + b"}]}"


def loads_or_refused(content: bytes) -> torchtraceap.Trace | str:
    """Return the trace, or the kind of its refusal."""
    try:
        return torchtraceap.load(content)
    except torchtraceap.TraceError as error:
        return error.kind


@pytest.mark.parametrize("case", cases(VALID), ids=repr)
def test_valid(case: bytes) -> None:
    value = plain(parse(case))
    trace = torchtraceap.load(as_arg(case))
    assert len(trace) == 2 and not list(trace.warnings)
    assert plain(parse(trace.read_args([0])[0].encode()))["v"] == value
    trace = torchtraceap.load(as_member(case))
    assert plain(parse(trace.metadata["v"].encode())) == value
    if case.startswith(b'"'):
        assert torchtraceap.load(as_name(case)).name(0) == value
    expected = (
        None if value == [] else "not_a_trace" if case[:1] in b"[{" else "not_json"
    )
    whole = loads_or_refused(case)
    assert (whole if isinstance(whole, str) else None) == expected


@pytest.mark.parametrize("case", cases(INVALID), ids=repr)
def test_invalid(case: bytes) -> None:
    with pytest.raises((ValueError, RecursionError)):
        parse(case)
    for content in (as_arg(case), as_member(case)):
        with pytest.raises(ValueError):  # Not made valid by what is around it.
            parse(content)
        trace = loads_or_refused(content)
        if not isinstance(trace, str):
            kinds = {warning.kind for warning in trace.warnings}
            assert "bad_value" in kinds
            recovered = torchtraceap.load(content, recover=True)
            assert len(recovered) == len(trace)
    if case.startswith(b'"'):
        assert isinstance(loads_or_refused(as_name(case)), str)
    assert isinstance(loads_or_refused(case), str)


@pytest.mark.parametrize("case", HALVES, ids=repr)
def test_halves_of_characters(case: bytes) -> None:
    trace = torchtraceap.load(as_name(case))
    name = trace.name(0)
    assert "\ufffd" in name and name == json.loads(case).encode(
        "utf-16-le", "surrogatepass"
    ).decode("utf-16-le", "replace")
    assert [warning.kind for warning in trace.warnings] == ["lone_surrogate"]
    for content in (as_arg(case), as_member(case)):
        assert {w.kind for w in torchtraceap.load(content).warnings} <= {
            "lone_surrogate"
        }
