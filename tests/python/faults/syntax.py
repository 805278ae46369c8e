# SPDX-License-Identifier: BSD-3-Clause
"""faults/syntax.py: F22-F25, text that is nearly JSON.

More damage, at every event: tests/cpp/trace/test_recover.cpp.
"""

from __future__ import annotations

from .build import (
    EVENT,
    FIVE,
    NOTHING,
    arg,
    footer,
    header,
    raw,
    text,
    unknown,
    usual,
    written,
    x,
)
from .variant import (
    METADATA_LOST,
    ONE_LOST,
    Base,
    Facts,
    Made,
    Make,
    Refused,
    Variant,
    alike,
    warns,
)

V = Variant
INVALID = Refused("invalid_json", "expected")
LOST, WITHOUT = (INVALID, ONE_LOST), (INVALID, METADATA_LOST)
BROKEN = {  # Of one event; the rest of the list is sound.
    "a trailing comma": '{"ph": "X", "ts": 1, "dur": 2,}',
    "a missing colon": '{"ph": "X", "ts" 1}',
    "a missing closing quote": '{"ph": "X", "name": "a, "ts": 1, "dur": 2}',
    "brackets that do not match": '{"ph": "X", "args": {"a": [1, 2}}',
    "a block comment": '{"ph": "X", /* why */ "ts": 1}',
    "bare keys": '{ph: "X", ts: 1}',
    "Python": "{'ph': 'X', 'args': None, 'ok': True}",
}
METADATA = {
    "a broken log array": '"WARNING": ["a" "b"]',
    "log text without quotes": '"INFO": [INFO:2024-04-11 13:30:02 Record counts]',
    "brackets that do not match": '"user": {"a": [1, 2}',
}


def between(mark: str) -> Make:
    """Put this for a comma between events, which damages the event before it."""

    def make(base: Base) -> Made:
        half = len(base.events) // 2
        one, two = base.events[:half], base.events[half:]
        content = base.head + ", ".join(one) + mark + "\n" + ", ".join(two) + base.tail
        kept = base.facts_of[: half - 1] + base.facts_of[half:]
        return Made(content.encode(), sum(kept, Facts()))

    return make


def comma_at_end(base: Base) -> Made:
    return Made((base.text()[: -len(base.tail)] + "," + base.tail).encode(), base.facts)


VARIANTS = [
    *(V("F22", name, raw(event), *LOST) for name, event in BROKEN.items()),
    V("F22", "broken, the first", raw(BROKEN["a missing colon"], at=0), *LOST),
    V("F22", "broken, the last", raw(BROKEN["a missing colon"], at=1), *LOST),
    V("F22", "no comma between events", between(""), *LOST),
    V("F22", "a bracket before an event", raw('[{"ph": "i", "ts": 1}'), *LOST),
    V("F22", "a brace before an event", raw('{{"ph": "i", "ts": 1}', EVENT), *LOST),
    *alike("F22", INVALID, warns(damaged_event=2))(
        two_broken=raw(", ".join(2 * [BROKEN["a missing colon"]])),
        broken_sound_broken=lambda b: raw(
            ", ".join([BROKEN["bare keys"], written(usual(b)), BROKEN["bare keys"]]),
            FIVE,
        )(b),
    ),
    *(
        V("F22", f"{mark} for a comma between events", between(mark), *LOST)
        for mark in ":;]}"
    ),
    *alike("F22", INVALID, warns(damaged_event=1))(
        a_comma_after_the_last_event=comma_at_end,
    ),
    *alike("F22", warns(bad_value=1, skipped_element=1))(
        a_bare_word_among_events=raw("oops"),
    ),
    *alike("F23", INVALID)(
        Python_as_a_whole=unknown(text(lambda t: t.replace('"', "'"))),
    ),
    *alike("F23", *WITHOUT)(
        a_comment_in_the_header=text(lambda t: t.replace("{", "{ // a comment\n", 1)),
    ),
    *(
        variant
        for name, member in METADATA.items()
        for variant in (
            V("F24", f"{name}, before", header(member), *WITHOUT),
            V("F24", f"{name}, after", footer(member), *WITHOUT),
        )
    ),
    *alike("F25", *LOST)(
        damage_in_args_that_are_not_read=arg('{"deep": [{"x": [1 2]}]}', NOTHING),
        damage_in_an_unknown_member=x(NOTHING, unknown='{"a": [1, 2}'),
    ),
]
