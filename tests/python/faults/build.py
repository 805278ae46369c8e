# SPDX-License-Identifier: BSD-3-Clause
"""faults/build.py: the few ways in which a variant differs from its base.

Texts are str; a byte that is not UTF-8 is written as its lone surrogate ("\\udcff").
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import replace

from .base import micros
from .variant import Base, Facts, Made, Make

NOTHING = Facts()
EVENT = Facts(events=1)
UNTIMED = Facts(events=1, x=1)
FIVE = Facts(events=1, x=1, sum_dur_ns=5_000)  # What `x` adds as it stands.


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def first_start(base: Base) -> int:
    """Return the earliest start of a complete event, in nanoseconds."""
    assert base.facts.min_ts_ns is not None
    return base.facts.min_ts_ns


def usual(base: Base) -> dict[str, str]:
    """Return the members of a sound event in the middle of the base, as raw JSON."""
    return {
        "ph": '"X"',
        "cat": '"cpu_op"',
        "name": '"inserted"',
        "pid": "7",
        "tid": "7",
        "ts": micros(first_start(base) + 1_000),
        "dur": "5",
    }


def written(members: dict[str, str]) -> str:
    return "{" + ", ".join(f'"{key}": {value}' for key, value in members.items()) + "}"


def raw(text: str, adds: Facts = NOTHING, at: float = 0.5, names: tuple = ()) -> Make:
    """One more element of the list, as it stands; `at` is where, from 0 to 1."""

    def make(base: Base) -> Made:
        place = round(at * len(base.events))
        events = (*base.events[:place], text, *base.events[place:])
        return Made(encoded(base.text(events)), base.facts + adds, names)

    return make


def x(adds: Facts = FIVE, names: tuple = (), **members: str | None) -> Make:
    """One more complete event; `members` replace its raw values (None: left out)."""

    def make(base: Base) -> Made:
        all_members = {**usual(base), **members}
        given = {key: value for key, value in all_members.items() if value is not None}
        return raw(written(given), adds, names=names)(base)

    return make


def kernels(*args: str) -> Make:
    """More kernels with these members of args, 10 us apart."""

    def make(base: Base) -> Made:
        texts = []
        for i, members in enumerate(args):
            place = {"cat": '"kernel"', "name": '"k"', "pid": "0", "tid": "7"}
            ts = {"ts": micros(first_start(base) + 1_000_000 + 10_000 * i)}
            more = {**place, **ts, "args": "{" + members + "}"}
            texts.append(written({**usual(base), **more}))
        count = len(args)
        return raw(", ".join(texts), Facts(count, count, 5_000 * count, gpu=count))(
            base
        )

    return make


def arg(value: str, adds: Facts = FIVE) -> Make:
    """One more complete event with this raw value in its args."""
    return x(adds, args='{"a": ' + value + ', "b": 1}')


def header(member: str) -> Make:
    """One more member before traceEvents."""
    return text(lambda t: t.replace("{", "{" + member + ", ", 1))


def footer(member: str) -> Make:
    """One more member after everything."""
    return text(lambda t: ", ".join((t[: t.rindex("}")], member)) + "}")


def text(change: Callable[[str], str], adds: Facts = NOTHING) -> Make:
    """The text as a whole, changed."""
    return lambda base: Made(encoded(change(base.text())), base.facts + adds)


def each(change: Callable[[str], str]) -> Make:
    """Every event, changed without a change of its facts."""
    return lambda base: Made(
        encoded(base.text(tuple(change(event) for event in base.events))), base.facts
    )


def stored(change: Callable[[bytes], bytes]) -> Make:
    """The bytes of the file, changed after encoding."""
    return lambda base: Made(change(encoded(base.text())), base.facts)


def packed(change: Callable[[bytes], bytes]) -> Make:
    """The gzip of the file, changed after compression."""
    return stored(lambda content: change(gzip.compress(content, mtime=0)))


def alone(content: bytes | str, facts: Facts = NOTHING) -> Make:
    """A file that has nothing of the base."""
    data = content if isinstance(content, bytes) else encoded(content)
    return lambda base: Made(data, facts)


def first(count: int, then: str = "") -> Make:
    """The first events and a beginning of what follows: a cut."""

    def make(base: Base) -> Made:
        content = base.head + ",\n  ".join(base.events[:count]) + then
        return Made(encoded(content), sum(base.facts_of[:count], Facts()))

    return make


def unknown(make: Make) -> Make:
    """The same file, of whose sound part the facts are not known."""
    return lambda base: replace(make(base), facts=None)
