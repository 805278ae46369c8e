# SPDX-License-Identifier: BSD-3-Clause
"""faults/strings.py: F15-F19, what a text may not hold, or may hold and seldom does."""

from __future__ import annotations

from .build import NOTHING, arg, footer, header, x
from .variant import METADATA_LOST, ONE_LOST, Refused, Variant, alike, warns

V = Variant
INVALID = Refused("invalid_json", "expected")
ESCAPE = Refused("bad_escape", "backslash")
CONTROL = Refused("control_character", "control character")
UTF8 = Refused("bad_utf8", "UTF-8")
REPLACED = warns(bad_utf8=None)
WINDOWS = r'"torch\cuda\__init__.py"'
QUOTES = '"Library("_inductor_test", "IMPL")"'
# Bytes of a name that are not UTF-8, and the result of recovering each piece.
BYTES = {
    "a stray byte": "\udcff",
    "overlong of three": "\udce0\udc80\udc80",
    "beyond U+10FFFF": "\udcf4\udc90\udc80\udc80",
    "a character cut by the quote": "\udce2\udc82",
}


def raw_character(code: int) -> Variant:
    text = f'"a{chr(code)}b"'
    return V("F17", f"0x{code:02x} in a name", x(NOTHING, name=text), CONTROL, ONE_LOST)


def replaced(piece: str) -> tuple[str, ...]:
    """Return a name as Unicode recommends to show bytes that are not UTF-8."""
    return (f"a{piece}b".encode("utf-8", "surrogateescape").decode("utf-8", "replace"),)


VARIANTS = [
    V("F15", "Windows path in a name", x(NOTHING, name=WINDOWS), ESCAPE, ONE_LOST),
    V("F15", "Windows path in args", arg(WINDOWS, NOTHING), ESCAPE, ONE_LOST),
    V("F15", "a short escape", x(NOTHING, name=r'"\u12"'), ESCAPE, ONE_LOST),
    *alike("F15", ESCAPE, METADATA_LOST)(
        Windows_path_in_metadata=footer(f'"x": {WINDOWS}'),
    ),
    *alike("F15")(
        a_valid_Windows_path=x(name=r'"C:\new\table"', names=("C:\new\table",)),
        escapes_of_every_kind=x(
            name=r'"\"\\\/\b\f\n\r\t\u00e9"', names=('"\\/\b\f\n\r\t\u00e9',)
        ),
    ),
    V("F16", "quotes in args", arg(QUOTES, NOTHING), INVALID, ONE_LOST),
    V("F16", "a quote in a name", x(NOTHING, name='"operator""()"'), INVALID, ONE_LOST),
    V("F16", "quotes in metadata", header(f'"x": {QUOTES}'), INVALID, METADATA_LOST),
    *(raw_character(code) for code in (0x00, 0x01, 0x08, 0x09, 0x0A, 0x0D, 0x1B, 0x1F)),
    V("F17", "a tab in args", arg('"a\tb"', NOTHING), CONTROL, ONE_LOST),
    V("F17", "a newline in a key", arg('{"a\nb": 1}', NOTHING), CONTROL, ONE_LOST),
    V("F17", "DEL is allowed", x(name='"a\x7fb"', names=("a\x7fb",))),
    *(
        V(
            "F18",
            f"{name} in a name",
            x(name=f'"a{piece}b"', names=replaced(piece)),
            UTF8,
            REPLACED,
        )
        for name, piece in BYTES.items()
    ),
    V("F18", "bad bytes in args", arg('"a\udcffb"'), UTF8, REPLACED),
    V("F18", "bad bytes in a key", arg('{"a\udcff": 1}'), UTF8, REPLACED),
    V("F18", "bad bytes in metadata", header('"x": "a\udcffb"'), UTF8, REPLACED),
    *alike("F18", UTF8, warns(bad_utf8=None, unknown_category=1))(
        bad_bytes_in_a_category=x(cat='"cpu\udcff"'),
    ),
    *alike("F19", warns(lone_surrogate=1))(
        half_a_pair=x(name=r'"a\ud800b"', names=("a\ufffdb",)),
        the_other_half=x(name=r'"a\udc00b"', names=("a\ufffdb",)),
    ),
    *alike("F19", warns(lone_surrogate=2))(
        halves_in_wrong_order=x(name=r'"\udc00\ud800"', names=("\ufffd\ufffd",)),
    ),
]
