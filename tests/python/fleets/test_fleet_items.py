# SPDX-License-Identifier: BSD-3-Clause
"""test_fleet_items.py: which files are an item, and what their paths tell."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from torchtraceap import ConfigError, TraceError
from torchtraceap.fleets.sources import find_items
from torchtraceap.fleets.urls import public_text, public_url
from torchtraceap.ranks.first_look import FirstLook
from torchtraceap.ranks.jobs_below import jobs_and_traces

from ..ranks.rank_folder import put
from .conftest import starved

LLAMA, GPT = "n/2026-10-01/llama-7b", "n/2026-10-02/gpt-70b"
TRAIN, OTHER = "teamA/ci/train/x.json", "teamB/ci/train/x.json"


def ranks(folder: str, count: int = 2) -> list[str]:
    return [f"{folder}/rank{rank}_trace.json" for rank in range(count)]


def lay(folder: Path, files: list[str]) -> None:
    for name in files:
        found = re.search(r"rank(\d+)", name)
        rank = {"rank": int(found[1]), "world_size": 64} if found else None
        put(folder / name, starved(**({"distributedInfo": rank} if rank else {})))


@pytest.mark.parametrize(
    ("files", "sources", "programs"),
    [
        ([*ranks(LLAMA), *ranks(GPT)], ["n"], {LLAMA: "llama-7b", GPT: "gpt-70b"}),
        (ranks(LLAMA), ["n"], {LLAMA: "llama-7b"}),
        (
            [*ranks(LLAMA), "n/2026-10-01/x/y.json"],
            ["n"],
            {LLAMA: "llama-7b", "n/2026-10-01/x/y.json": "x/y"},
        ),
        (ranks(LLAMA), ["n/*/*/*.json"], {LLAMA: "llama-7b"}),
        (ranks("n/gpt"), ranks("n/gpt"), {"n/gpt": "gpt"}),
        (["n/a/x.json"], ["n/*/x.json"], {"n/a/x.json": "a/x"}),
        ([TRAIN], ["teamA/ci"], {TRAIN: "train/x"}),
        (
            [TRAIN, OTHER, "teamB/ci/y.json"],
            ["teamA/ci", "teamB/ci"],
            {
                TRAIN: "teamA/ci/train/x",
                OTHER: "teamB/ci/train/x",
                "teamB/ci/y.json": "y",
            },
        ),
    ],
)
def test_paths_name_programs(
    files: list[str], sources: list[str], programs: dict[str, str], here: Path
) -> None:
    """Whatever is beside them, and however the source is spelled."""
    lay(here, files)
    items = find_items(sources).items
    assert {
        str(Path(item.url).relative_to(here)): dict(item.labels)["program"]
        for item in items
    } == programs
    assert sum(len(item.files) for item in items) == len(files)


def test_a_pattern_of_paths_is_searched_in_those_of_files(here: Path) -> None:
    lay(here, ranks(LLAMA))
    pattern = re.compile(r"n/[^/]+/(?P<model>\w+)-7b/rank0")
    (item,) = find_items(["n"], pattern).items
    assert dict(item.labels)["model"] == "llama" and item.fixed == {"model"}
    with pytest.raises(ConfigError, match="names nothing, as in "):
        find_items(["n"], re.compile("m/(?P<model>.*)"))


@pytest.mark.parametrize(
    "keys",
    [
        ["s3://b//k", "s3://b/k"],
        ["s3://b/a//x", "s3://b/a//y", "s3://b/a/x"],
        ["s3://b/x.json", "s3://b/x.json/y.json"],
        ["s3://b/../x", "s3://b/./x"],
        [f"s3://b/{'/' * 900}x", f"s3://b/{'/' * 901}x"],
    ],
)
def test_keys_of_a_store_are_no_paths(keys: list[str]) -> None:
    found = jobs_and_traces(keys, lambda key: FirstLook())
    assert sorted(found) == sorted((key, [key]) for key in keys)


def test_the_estimate_goes_by_the_contents(here: Path) -> None:
    """Of a gzip file with another name, and of all ranks of a job."""
    text = starved(steps=400)
    put(here / "a/x.json", gzip.compress(text))
    put(here / "b/x.json", text).rename(here / "b/x.json.gz")
    by_name = {item.files[0].url[-3:]: item for item in find_items([str(here)]).items}
    process = 128 << 20
    of_gzip, of_text = by_name["son"], by_name[".gz"]
    assert of_gzip.needed_bytes - process == 60 * of_gzip.files[0].size
    assert of_text.needed_bytes - process == 4 * len(text)
    lay(here, ranks("job", 64))
    (job,) = find_items([str(here / "job")]).items
    assert job.needed_bytes > process + 63 * (100 << 10)


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("file:///nowhere/x", "file:///nowhere/x: it cannot be listed"),
        ("zip://x::file:///a.zip", "a URL of a file in another one cannot be read"),
        ("simplecache::s3://a", "a URL of a file in another one cannot be read"),
        ("zip:///nowhere.zip", "fsspec cannot open it"),
        ("github://x/y", "fsspec cannot open it"),
    ],
)
def test_a_url_that_cannot_be_opened_is_refused(url: str, wanted: str) -> None:
    pytest.importorskip("fsspec")
    with pytest.raises(TraceError, match=re.escape(wanted)):
        find_items([url])


def test_files_behind_file_urls_are_those(here: Path) -> None:
    pytest.importorskip("fsspec")
    lay(here, ["n/x.json"])
    (item,) = find_items([f"file://{here}/n"]).items
    assert item.url == f"file://{here}/n/x.json"
    lay(here, ["n/y.json"])
    assert len(find_items([f"file://{here}/n/*"]).items) == 2


@pytest.mark.parametrize(
    ("url", "public"),
    [
        ("https://h/b?key=x&se=1&page_token=2", "https://h/b?key=x&se=1"),
        ("https://h/b?sv=1&se=2&sig=3&x=4", "https://h/b?x=4"),
        ("https://h/k?X-Amz-Signature=1&versionId=2", "https://h/k?versionId=2"),
        ("https://h/x?AWSAccessKeyId=1&Signature=2&Expires=3", "https://h/x"),
        ("https://h/x?q-sign-time=1&q-ak=2&file=a", "https://h/x?file=a"),
        ("https://user:pass@h:80/p?a=b", "https://h:80/p?a=b"),
        ("https://h/p?X%2DAmz%2DSignature=1&b=2#access_token=3", "https://h/p?b=2"),
        ("https://h/p?key=a&st=b&client_secret=c", "https://h/p?key=a&st=b"),
        ("https://h/p?a=1;token=2", "https://h/p?a=1"),
        ("ftp://user:p%40ss@h/p", "ftp://h/p"),
        # Here "@" does not follow a user.
        ("github://org:repo@main/x?sig=1", "github://org:repo@main/x?sig=1"),
        ("abfs://container@account/x", "abfs://container@account/x"),
        ("/a/b@c?sig=1", "/a/b@c?sig=1"),
    ],
)
def test_a_public_url_gives_no_access(url: str, public: str) -> None:
    assert public_url(url) == public


def test_a_message_gives_no_access() -> None:
    said = "403, message='Forbidden', url='http://me:pw@h/a.json?sig=a%2Fb&x=1'"
    wanted = "403, message='Forbidden', url='http://h/a.json?x=1'"
    assert public_text(said) == wanted
