# SPDX-License-Identifier: BSD-3-Clause
"""faults/container.py: F11-F14, gzip in every form, whole and damaged."""

from __future__ import annotations

import gzip
import io
import struct
import zipfile
import zlib
from functools import cache

from .build import alone, encoded, first, packed, stored, unknown
from .variant import Base, Facts, Made, Refused, Variant, alike, warns

V = Variant
GZIP_CHECK = Refused("gzip_checksum", "checksum")
GZIP_CUT = Refused("gzip_truncated", "cut")


def members(content: bytes, parts: int) -> bytes:
    """Compress as several gzip members, cut anywhere."""
    size = len(content) // parts + 1
    cuts = range(0, len(content), size)
    return b"".join(gzip.compress(content[i : i + size], mtime=0) for i in cuts)


def with_flags(data: bytes) -> bytes:
    """Give a gzip member every optional field: extra, name, comment, header CRC."""
    extra = b"MG" + struct.pack("<H", 4) + b"abcd"
    head = data[:3] + b"\x1e" + data[4:10] + struct.pack("<H", len(extra)) + extra
    head += b"trace.json\0comment\0"
    return head + struct.pack("<H", zlib.crc32(head) & 0xFFFF) + data[10:]


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


def zipped(content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("trace.json", content)
    return file.getvalue()


def saved(name: str) -> bytes:
    """Write what torch.save does, as far as it matters: its first member."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(f"{name}/data.pkl", b"\x80\x02}q\0.")
        archive.writestr(f"{name}/version", b"3\n")
    return file.getvalue()


def cut_gzip(base: Base) -> Made:
    """Cut the gzip in its middle; what zlib gets out of it tells what is whole."""
    data = gzip.compress(encoded(base.text()), mtime=0)
    data = data[: len(data) // 2]
    text = zlib.decompressobj(31).decompress(data).decode(errors="replace")
    sound, end = Facts(), len(base.head)
    for event, facts in zip(base.events, base.facts_of, strict=True):
        end += len(event)
        if end > len(text):
            break
        sound, end = sound + facts, end + len(",\n  ")
    return Made(data, sound)


def damaged_member(base: Base) -> Made:
    """Ten events in a sound member, the rest in one whose first block has no type."""
    sound = first(10, ",\n  ")(base)
    data = gzip.compress(sound.content, mtime=0)
    rest = gzip.compress(encoded(base.text()), mtime=0)
    return Made(data + rest[:10] + b"\x07" + rest[11:], sound.facts)


@cache
def bomb(base: Base) -> Made:
    blanks = " " * (72 << 20)
    return Made(gzip.compress(encoded(base.text() + blanks), 1, mtime=0), base.facts)


VARIANTS = [
    V("F11", "gzip", packed(lambda d: d)),
    V("F11", "gzip members", stored(lambda d: members(d, 5))),
    V("F11", "every optional field", packed(with_flags)),
    V("F11", "stored blocks", packed(lambda d: gzip.compress(gzip.decompress(d), 0))),
    V("F12", "gzip cut", cut_gzip, GZIP_CUT, warns(gzip_truncated=1, truncated=1)),
    *alike("F12", GZIP_CUT, warns(gzip_truncated=1))(
        gzip_without_its_end=packed(lambda d: d[:-8]),
        gzip_cut_in_its_checksum=packed(lambda d: d[:-5]),
    ),
    *alike("F12", GZIP_CHECK, warns(gzip_checksum=1))(
        wrong_checksum=packed(lambda d: flipped(d, len(d) - 8)),
        huge_length=packed(lambda d: d[:-4] + b"\xff" * 4),
    ),
    *alike("F12", Refused("gzip_damaged"))(
        a_block_of_no_type=unknown(packed(lambda d: d[:10] + b"\x07" + d[11:])),
    ),
    *alike("F12", Refused("gzip_trailing"), warns(gzip_trailing=1))(
        an_invalid_second_member=packed(lambda d: d + b"\x1f\x8b\x09" + b"\0" * 20),
    ),
    V(
        "F12",
        "a damaged member",
        damaged_member,
        Refused("gzip_damaged", "10 whole events"),
        warns(gzip_damaged=1, truncated=1),
    ),
    V("F12", "gzip cut in its header", packed(lambda d: d[:6]), GZIP_CUT),
    *alike("F12", Refused("gzip_header"))(
        reserved_flags=packed(lambda d: d[:3] + b"\xe0" + d[4:]),
    ),
    V("F13", "bomb", bomb, Refused("gzip_bomb", "200 times")),
    V("F13", "bomb, allowed", bomb, options={"max_ratio": 2000.0}),
    *alike(
        "F13", Refused("gzip_limit", "1000 bytes"), options={"max_text_bytes": 1000}
    )(
        over_the_limit=packed(lambda d: d),
    ),
    *alike("F13")(
        under_the_exempt_size=stored(lambda d: gzip.compress(d + b" " * (8 << 20), 1)),
    ),
    V("F14", "zip", stored(zipped), Refused("zip", "zip")),
    *alike("F14", Refused("torch_save", "torch.save"))(
        torch_save=alone(saved("model")),
        torch_save_of_a_long_name=alone(saved("x" * 240)),
    ),
    *alike("F14", Refused("sqlite", "Nsight Systems"))(
        an_export_of_Nsight_Systems=alone(b"SQLite format 3\0" + b"\x10\0" * 40),
    ),
    V("F14", "zstd", alone(b"\x28\xb5\x2f\xfd" + b"\0" * 40), Refused("zstd", "zstd")),
    V("F14", "xz", alone(b"\xfd7zXZ\0" + b"\0" * 40), Refused("xz", "xz")),
    V("F14", "bzip2", alone(b"BZh91AY&SY" + b"\0" * 40), Refused("bzip2", "bzip2")),
    *alike("F14", Refused("nested_gzip", "gzip inside gzip"))(
        gzip_in_gzip=packed(gzip.compress),
    ),
]
