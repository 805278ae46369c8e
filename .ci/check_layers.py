#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
""".ci/check_layers.py [ROOT]: checks every #include and import against tables.

The tables are the order of the parts (docs/architecture.md): those of C++ are here,
those of Python's packages in check_packages.py. Each violation is printed as
``file:line: what: rule``, and the exit code is 1.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from check_packages import check_benchmarks, check_python, check_subpackages

# --- The tables -------------------------------------------------------------------

# part: the parts it may include. These include their own dependencies, so `patterns`
# may also use `trace`; a single header, such as the table of patterns, adds no
# dependencies unless it has a row of its own. A folder with a row is a part separate
# from the one around it.
PARTS = {
    "trace": [],
    "timeline": ["trace"],
    "graphs": ["timeline"],
    "work": ["timeline"],
    "replay": ["timeline"],
    "write": ["replay"],
    "patterns": ["replay", "work"],
    "features": ["timeline", "patterns/pattern.h"],
    "detector": ["features"],
    "record": [],
    "pipeline/report.h": ["patterns", "graphs", "record"],
    "pipeline/quality": ["pipeline/report.h"],
    "pipeline/pricing": ["pipeline/report.h"],
    "pipeline/accounting": ["pipeline/pricing"],
    "pipeline/tables": ["pipeline/accounting", "features", "work"],
    "pipeline/comparison": ["pipeline/tables"],
    "pipeline/verdicts": ["pipeline/accounting"],
    "pipeline/story": ["pipeline/pricing", "pipeline/tables"],
    "pipeline/drawing": ["pipeline/report.h", "write"],
    "pipeline/ranks": ["pipeline/pricing"],
    "pipeline": [
        "pipeline/quality",
        "pipeline/tables",
        "pipeline/comparison",
        "pipeline/verdicts",
        "pipeline/story",
        "pipeline/drawing",
        "pipeline/ranks",
    ],
    "bindings": ["pipeline", "detector"],
    # Not part of the product, and in no wheel (benchmarks/lab/cpp): accepts the reports
    # that Python holds.
    "lab": [
        "pipeline",
        "bindings/analysis.h",
        "bindings/analysis.h",
        "bindings/signals.h",
    ],
}
# The libraries of single headers (cpp/CMakeLists.txt), without dependencies.
HEADER_LIBRARIES = {
    "pattern_names": "patterns/pattern.h",
    "pipeline_report": "pipeline/report.h",
}
# The headers of its own folder that such a header may include.
BESIDE = {
    "patterns/pattern.h": {"patterns/pattern_rows.h"},
    "pipeline/report.h": {"pipeline/records.h"},
}
# Headers that only one rule needs are in a folder of its name beside it.
OF_ONE_RULE = re.compile(r"(patterns/rules/\w+)/")
# The same for folders of tests/cpp/, which every test may use.
SHARED_BY_TESTS = {"support": ["trace"], "robust": ["pipeline"]}
# Other parts that tests of a part may use: random programs are replayed as traces that
# were written and read back.
TESTS_ALSO_USE = {"replay": {"write"}}


@dataclass(frozen=True)
class Library:
    """Library headers, and the only files (regular expression) that may use them."""

    headers: str
    files: str
    rule: str


# The first matching row decides; a header without a matching row is refused.
LIBRARIES = [
    Library(r"simdjson", r"trace/.*\.cpp", "simdjson stays in the sources of trace"),
    Library(
        r"protozero/",
        r"trace/pftrace/.*|write/.*\.cpp",
        "protozero stays in trace/pftrace and the sources of write",
    ),
    Library(
        r"isa-l|zlib\.h",
        r"trace/.*\.cpp|tests/(trace|robust|support)/.*",
        "inflaters stay in trace's sources",
    ),
    Library(
        r"Python\.h|pybind11/|torch/(extension|python)\.h|torch/csrc/.*pyth|.*pybind",
        r"bindings/.*|lab/cpp/module\.cpp",
        "Python is known to bindings only",
    ),
    Library(
        r"(torch|ATen|c10|caffe2)/",
        r"detector/.*\.(h|cpp)|bindings/torch_.*",
        "torch is known to detector and the module _torch only",
    ),
    Library(r"cuda|cub/|thrust/", r".*\.cu", "CUDA headers stay in .cu files"),
    Library(r"(gtest|gmock)/", r"tests/.*", "test headers stay in tests"),
    Library(r"[a-z_0-9]+$", r".*", "the standard library is free to all"),
    Library(
        r"(sys/\w+|dlfcn|execinfo|fcntl|link|sched|unistd|pthread|immintrin|emmintrin"
        r"|arm_neon)\.h$",
        r".*",
        "the operating system is free to all",
    ),
]

# The parts that need torch, and those that must not depend on them, directly or through
# others (nor may the module _core): they receive probabilities as plain data.
TORCH_PARTS = ["detector"]
WITHOUT_TORCH = ["pipeline", "features"]

# --- C++ --------------------------------------------------------------------------

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def reach(part: str) -> set[str]:
    """Return `part` and all parts it may use, directly or through another part."""
    found = {part}
    for used in (PARTS | SHARED_BY_TESTS).get(part, []):
        found |= reach(used)
    return found


def part_of(path: str) -> str:
    """Return the part of a file or header: the innermost folder in the table."""
    folders = path.split("/")[:-1]
    for depth in range(len(folders), 1, -1):
        if (part := "/".join(folders[:depth])) in PARTS:
            return part
    return path.split("/")[0]


def check_include(file: str, header: str, quoted: bool) -> str | None:
    """Return the rule that `file` (below cpp/, or below tests/cpp/) breaks."""
    in_tests = file.startswith("tests/")
    inner = file.removeprefix("tests/")
    # A test links the whole part that it tests. A header that may be used without the
    # rest of its part has its own row.
    part = inner.split("/")[0] if in_tests else part_of(inner)
    if inner in HEADER_LIBRARIES.values():
        part = inner
    if quoted:
        target = part_of(header)
        if target == header:
            return None if in_tests else 'includes start at cpp/, as "trace/trace.h"'
        if in_tests and target in SHARED_BY_TESTS:
            return None
        if target not in PARTS:
            return f"{target} is not a part; libraries are included with <>"
        own = OF_ONE_RULE.match(header)
        if own and not in_tests and not file.startswith((f"{own[1]}/", f"{own[1]}.")):
            return f"{own[1]}/ is for that rule alone"
        allowed = (
            reach(part)
            | BESIDE.get(part, set())
            | (TESTS_ALSO_USE.get(part, set()) if in_tests else set())
        )
        if re.match(r"bindings/(?!torch_)", inner) and target in TORCH_PARTS:
            return f"the module _core works without torch, so without {target}"
        if target in allowed or header in allowed:
            return None
        return f"{part} may use {_listed(allowed, part)}"
    for library in LIBRARIES:
        if re.match(library.headers, header):
            allowed_here = re.fullmatch(library.files, file) or (
                in_tests and re.fullmatch(library.files, inner)
            )
            return None if allowed_here else library.rule
    return "an unknown library; add it to LIBRARIES in .ci/check_layers.py"


def check_tables() -> Iterator[str]:
    """Yield a message for each part that must not reach torch and may."""
    for part in WITHOUT_TORCH:
        for torch_part in sorted(reach(part) & set(TORCH_PARTS)):
            yield f".ci/check_layers.py:1: {part} may reach {torch_part}, so torch"


def check_cmake(root: Path) -> Iterator[str]:
    """Yield a message for each part whose links differ from its allowed includes."""
    path = root / "cpp" / "CMakeLists.txt"
    if not path.exists():
        return
    text = re.sub(r"#.*", "", path.read_text())
    libraries = {part.replace("/", "_"): part for part in PARTS} | HEADER_LIBRARIES
    linked = {
        header: set(PARTS.get(header, [])) for header in HEADER_LIBRARIES.values()
    }
    for name, rest in re.findall(r"tta_add_part\(\s*([\w/]+)([^()]*)\)", text):
        used = re.findall(r"\btta_(\w+)", rest)
        linked[name] = {libraries[u] for u in used if u in libraries}
        if name not in PARTS:
            yield f"cpp/CMakeLists.txt:1: {name} is not in the table of parts"
    for name in linked.keys() & PARTS.keys() - set(HEADER_LIBRARIES.values()):
        reached: set[str] = set()
        queue = [name]
        while queue:
            part = queue.pop()
            reached.add(part)
            queue += sorted(linked.get(part, set()) - reached)
        links, may = _listed(reached, name), _listed(reach(name), name)
        if links != may:
            yield f"cpp/CMakeLists.txt:1: {name} links {links}, but may use {may}"


def _listed(parts: set[str], but: str) -> str:
    """List parts, and single headers of others."""
    listed = (
        p
        for p in sorted(parts - {but})
        if not p.endswith(".h") or part_of(p) not in parts
    )
    return ", ".join(listed) or "no other part"


# Folders of C++, and the prefix that a name from there has in the tables.
FOLDERS = {"cpp": "", "benchmarks/lab/cpp": "lab/cpp/", "tests/cpp": "tests/"}


def cpp_files(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield our C++ files, each with its folder, a key of FOLDERS."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in {".h", ".cpp", ".cu", ".cuh"}:
                yield folder, path


def check_cpp(root: Path) -> Iterator[str]:
    """Yield a message for each forbidden include in our C++ and its tests."""
    for folder, path in cpp_files(root):
        prefix = FOLDERS[folder]
        inner = path.relative_to(root / folder).as_posix()
        name = prefix + inner
        in_tests = prefix == "tests/"
        known = PARTS | SHARED_BY_TESTS if in_tests else PARTS
        if (inner if in_tests else name).split("/")[0] not in known:
            yield f"{path.relative_to(root)}:1: is in no part of the table"
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if match := INCLUDE.match(line):
                rule = check_include(name, match[2], match[1] == '"')
                if rule:
                    where = f"{path.relative_to(root)}:{number}"
                    yield f"{where}: includes {match[2]}: {rule}"


NAMESPACE = re.compile(r"(?:inline )?namespace\s*([\w:]*)\s*\{")
TYPE = re.compile(r"(?:struct|class|enum class|enum|union)\s+(\w+)(?!\w|::)")


def types_of(text: str) -> Iterator[tuple[str, int]]:
    """Yield each type that formatted C++ defines in a named namespace, and its line."""
    spaces: list[str] = []
    lines = text.splitlines()
    for i, line in enumerate(lines):
        if match := NAMESPACE.match(line):
            spaces.append(match[1])
        elif line.startswith("}  // namespace") and spaces:
            spaces.pop()
        elif (match := TYPE.match(line)) and spaces and all(spaces):
            rest = " ".join(lines[i : i + 3])[match.end() :]
            if "{" in rest and ";" not in rest[: rest.index("{")]:
                yield "::".join([*spaces, match[1]]), i + 1


def check_types(root: Path) -> Iterator[str]:
    """Yield a message for each C++ type that two files define.

    If they are linked into one program, the destructor of either may run for both, and
    no compiler detects it.
    """
    first: dict[str, str] = {}
    for _, path in cpp_files(root):
        for name, line in types_of(path.read_text()):
            where = f"{path.relative_to(root)}:{line}"
            if name in first:
                yield f"{where}: defines {name}: {first[name]} does too"
            first.setdefault(name, where)


def main() -> int:
    """Check the given tree, or the one that contains this file."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1])
    broken = [*check_tables(), *check_cmake(root), *check_cpp(root), *check_types(root)]
    broken += [*check_python(root), *check_subpackages(root), *check_benchmarks(root)]
    print("\n".join(broken) or "layers: every include and import follows the table")
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
