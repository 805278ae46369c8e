#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
""".ci/check_layers.py [ROOT]: holds every #include and import against tables.

The tables are the layer table of the design (CONTRIBUTING.md, "Layers"). A line that
breaks one is printed as ``file:line: what: rule``, and the exit code is 1.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# --- The tables -------------------------------------------------------------------

# part: what it may include. A part brings what it may use itself, so `patterns` may
# also name `trace`; a single header, such as the table of patterns, brings nothing
# unless it has a row of its own. A folder with a row is a part apart from the one it
# lies in.
PARTS = {
    "trace": [],
    "timeline": ["trace"],
    "replay": ["timeline"],
    "write": ["replay"],
    "patterns": ["replay", "timeline"],
    "features": ["timeline", "patterns/pattern.h"],
    "detector": ["features"],
    "pipeline/report.h": ["patterns"],
    "pipeline/quality": ["pipeline/report.h"],
    "pipeline/pricing": ["pipeline/report.h"],
    "pipeline/accounting": ["pipeline/pricing"],
    "pipeline/tables": ["pipeline/accounting", "features"],
    "pipeline/story": ["pipeline/pricing"],
    "pipeline/drawing": ["pipeline/report.h", "write"],
    "pipeline": [
        "pipeline/quality",
        "pipeline/tables",
        "pipeline/story",
        "pipeline/drawing",
    ],
    "bindings": ["pipeline", "detector"],
}
# The libraries of single headers (cpp/CMakeLists.txt), which bring nothing else.
HEADER_LIBRARIES = {
    "pattern_names": "patterns/pattern.h",
    "pipeline_report": "pipeline/report.h",
}
# What such a header takes from its own folder.
BESIDE = {"patterns/pattern.h": {"patterns/pattern_rows.h"}}
# Headers that only one rule needs lie in a folder of its name beside it.
OF_ONE_RULE = re.compile(r"(patterns/rules/\w+)/")
# The same for folders of tests/cpp/ only, which every test may use.
SHARED_BY_TESTS = {"support": ["trace"], "robust": ["pipeline"]}
# And what else tests of a part may use: random programs are replayed as traces that
# were written and read again.
TESTS_ALSO_USE = {"replay": {"write"}}


@dataclass(frozen=True)
class Library:
    """Headers of others, and the only files (regular expression) that may use them."""

    headers: str
    files: str
    rule: str


# The first row that knows a header decides; a header that no row knows is refused.
LIBRARIES = [
    Library(r"simdjson", r"trace/.*\.cpp", "simdjson stays in the sources of trace"),
    Library(
        r"isa-l|zlib\.h",
        r"trace/.*\.cpp|tests/(trace|robust|support)/.*",
        "inflaters stay in trace's sources",
    ),
    Library(
        r"Python\.h|pybind11/|torch/(extension|python)\.h|torch/csrc/.*pyth|.*pybind",
        r"bindings/.*",
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

# The parts that need torch, which these and the module _core must do without, whatever
# they reach through others: probabilities come to them as plain data.
TORCH_PARTS = ["detector"]
WITHOUT_TORCH = ["pipeline", "features"]

# Python: the rooms of the packages, from the ground up; each may use those before it.
# A room is a folder or a single module of python/torchtraceap, or a package beside it.
ROOMS = [
    "base",  # knows nothing of traces: arguments, errors, units, text, files
    "waits",  # what makes a host wait, and the verdict on it
    "data",  # from a source to the parts of a report
    "detection",  # the learned detector's words, as plain data
    "report_data",  # what a report says
    "views",  # a report as text, page, table, file
    "gate",  # budgets and comparisons
    "report",  # what a user holds: the data and the views of it
    "analysis_plan",
    "profiling",  # live profilers
    "analysis",
    "edits",
    "replaying",
    "comparison",
    "torchtraceap_dryrun",  # a product of its own: code for a GPU without one
    "torchtraceap_train",  # another: the detector's training
    "checking",  # pytest and SyncCheck
    "cli",  # the program
]
# A room that may use no more than these of the rooms below it: the dry run hands the
# trace that it simulates to `analyze`, and else stands by itself.
ONLY = {"torchtraceap_dryrun": {"base", "waits", "analysis", "report"}}
# What stands on top of all, and is imported by nobody inside; and what the package
# itself may be asked for, beside its rooms: the extension modules.
ON_TOP = {"torchtraceap", "torchtraceap.__main__", "torchtraceap.pytest_plugin"}
OF_THE_PACKAGE = {"_core", "_torch"}
PACKAGES = ("torchtraceap", "torchtraceap_dryrun", "torchtraceap_train")

# What a module of the package may import before anything is called.
IMPORT_AT_TOP = {*PACKAGES, "numpy", *sys.stdlib_module_names}
# Files that only pytest loads.
IMPORT_AT_TOP_OF = {f"pytest_{name}.py": {"pytest"} for name in ("plugin", "hooks")}
# Modules that need torch to be defined, by subclassing for example: they import what
# they like, and are themselves imported inside functions, or by one another.
ON_FIRST_USE = {
    "torchtraceap._torch",
    "torchtraceap.checking.cpu_watch",
    "torchtraceap.checking.gpu_watch",
    "torchtraceap.profiling.recorder",
    "torchtraceap.waits.written",
}
# A dry run is made of torch: all of its modules are such, but these, and all of the
# folders among them.
DRY_RUN = "torchtraceap_dryrun."
DRY_RUN_WITHOUT_TORCH = {
    f"{DRY_RUN}{name}"
    for name in (
        "__init__",
        "estimate",
        "limits",
        "lines",
        "observation",
        "outcome",
        "private_names",
        "record",
        "result",
        "result_views",
        "script.child",
        "script.ended",
        "script.ending",
        "script.in_child",
        "script.journal",
        "script.stopped",
        "timeline",
        "wait_places",
    )
}

# --- C++ --------------------------------------------------------------------------

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def reach(part: str) -> set[str]:
    """Return `part` and all it may use, directly or through another part."""
    found = {part}
    for used in (PARTS | SHARED_BY_TESTS).get(part, []):
        found |= reach(used)
    return found


def part_of(path: str) -> str:
    """Return the part that a file or header lies in: the innermost of the table."""
    folders = path.split("/")[:-1]
    for depth in range(len(folders), 1, -1):
        if (part := "/".join(folders[:depth])) in PARTS:
            return part
    return path.split("/")[0]


def check_include(file: str, header: str, quoted: bool) -> str | None:
    """Return the rule that `file` (from cpp/, or tests/ and the same) breaks."""
    in_tests = file.startswith("tests/")
    inner = file.removeprefix("tests/")
    # A test links the whole part that it is a test of. A header that others may have
    # without the rest of its part holds to its own row.
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
            return f"{target} is no part; libraries are included with <>"
        own = OF_ONE_RULE.match(header)
        if own and not in_tests and not file.startswith((f"{own[1]}/", f"{own[1]}.")):
            return f"what {own[1]}/ holds is for that rule alone"
        allowed = (
            reach(part)
            | BESIDE.get(part, set())
            | (TESTS_ALSO_USE.get(part, set()) if in_tests else set())
        )
        if re.match(r"bindings/(?!torch_)", inner) and target in TORCH_PARTS:
            return f"the module _core does without torch, so without {target}"
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
    """Yield a message for each part whose row of the table lets it reach torch."""
    for part in WITHOUT_TORCH:
        for torch_part in sorted(reach(part) & set(TORCH_PARTS)):
            yield f".ci/check_layers.py:1: {part} may reach {torch_part}, so torch"


def check_cmake(root: Path) -> Iterator[str]:
    """Yield a message for each part that links something else than it may include."""
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
            yield f"cpp/CMakeLists.txt:1: {name} is no part of the table"
    for name in linked.keys() & PARTS.keys() - set(HEADER_LIBRARIES.values()):
        reached: set[str] = set()
        queue = [name]
        while queue:
            part = queue.pop()
            reached.add(part)
            queue += sorted(linked.get(part, set()) - reached)
        links, may = _listed(reached, name), _listed(reach(name), name)
        if links != may:
            yield f"cpp/CMakeLists.txt:1: {name} links {links}, and may use {may}"


def _listed(parts: set[str], but: str) -> str:
    """List parts, and single headers of others."""
    listed = (
        p
        for p in sorted(parts - {but})
        if not p.endswith(".h") or part_of(p) not in parts
    )
    return ", ".join(listed) or "no other part"


def check_cpp(root: Path) -> Iterator[str]:
    """Yield a message for each forbidden include below cpp/ and tests/cpp/."""
    for base, prefix in (("cpp", ""), ("tests/cpp", "tests/")):
        for path in sorted((root / base).rglob("*")):
            if path.suffix not in {".h", ".cpp", ".cu", ".cuh"}:
                continue
            inner = path.relative_to(root / base).as_posix()
            name = prefix + inner
            known = PARTS | SHARED_BY_TESTS if prefix else PARTS
            if inner.split("/")[0] not in known:
                yield f"{path.relative_to(root)}:1: lies in no part of the table"
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if match := INCLUDE.match(line):
                    rule = check_include(name, match[2], match[1] == '"')
                    if rule:
                        where = f"{path.relative_to(root)}:{number}"
                        yield f"{where}: includes {match[2]}: {rule}"


# --- Python -----------------------------------------------------------------------


def imports_at_top(body: list[ast.stmt]) -> Iterator[tuple[int, str]]:
    """Yield line and dotted name of what is imported when the module is."""
    for node in body:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            yield node.lineno, module
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from imports_at_top(node.orelse)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for field in ("body", "handlers", "cases", "orelse", "finalbody"):
                yield from imports_at_top(getattr(node, field, []))


def check_python(root: Path) -> Iterator[str]:
    """Yield a message for each import in the packages that comes too early."""
    for path in modules_of(root):
        if is_late(name_of(path, root)):
            continue
        allowed = IMPORT_AT_TOP | IMPORT_AT_TOP_OF.get(path.name, set())
        reported = set()
        for line, name in imports_at_top(ast.parse(path.read_text()).body):
            late = is_late(name) or name.split(".")[0] not in allowed
            if late and line not in reported:
                reported.add(line)
                yield (
                    f"{path.relative_to(root)}:{line}: imports {name}: "
                    "torch, _torch and extras are imported inside the function "
                    "that uses them"
                )


def modules_of(root: Path) -> list[Path]:
    """Return the files of the packages."""
    return [
        p for name in PACKAGES for p in sorted((root / "python" / name).rglob("*.py"))
    ]


def name_of(path: Path, root: Path) -> str:
    """Return the dotted name of a file below python/."""
    module = ".".join(path.relative_to(root / "python").with_suffix("").parts)
    return module.removesuffix(".__init__")


def room_of(module: str) -> str:
    """Return the room that a dotted name lies in; of the package itself, its name."""
    package, _, inner = module.partition(".")
    return inner.split(".")[0] or package if package == PACKAGES[0] else package


def is_ours(module: str) -> bool:
    """Tell whether a dotted name is one of the packages, or in one."""
    return module.split(".")[0] in PACKAGES


def edges_of(path: Path, known: set[str]) -> Iterator[tuple[int, str]]:
    """Yield line and name of ours for each import in a file, wherever in it: those
    inside functions and those for types count like any other. A relative one is ""."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            yield node.lineno, ""
        elif isinstance(node, ast.ImportFrom) and is_ours(node.module or ""):
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                inner = name in known or node.module == PACKAGES[0]
                yield node.lineno, name if inner else node.module
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            yield from ((node.lineno, name) for name in names if is_ours(name))
        elif isinstance(node, ast.Call) and "import" in ast.unparse(node.func):
            texts = [a.value for a in node.args if isinstance(a, ast.Constant)]
            yield from ((node.lineno, text) for text in texts if text in known)


def check_rooms(root: Path) -> Iterator[str]:
    """Yield a message for each import that goes up, and for each circle of imports."""
    files = {name_of(path, root): path for path in modules_of(root)}
    edges: dict[str, set[str]] = {}
    for module, path in files.items():
        if module in ON_TOP:
            continue
        room = room_of(module)
        if room not in ROOMS:
            yield f"{path.relative_to(root)}:1: {room} is no room of the table"
            continue
        for line, used in edges_of(path, set(files)):
            where = f"{path.relative_to(root)}:{line}"
            other = room_of(used)
            if not used:
                yield f"{where}: a relative import; name it all"
            elif other in OF_THE_PACKAGE:
                continue
            elif used in ON_TOP or other not in ROOMS:
                yield f"{where}: imports {used}: its module is to be named"
            elif ROOMS.index(other) > ROOMS.index(room):
                yield f"{where}: imports {used}: {room} stands below {other}"
            elif other not in ONLY.get(room, {*ROOMS}) | {room}:
                only = ", ".join(sorted(ONLY[room]))
                yield f"{where}: imports {used}: {room} may use {only} only"
            elif used in files and files[used].stem != "__init__":
                edges.setdefault(module, set()).add(used)
    for circle in circles(edges):
        yield f"python:1: a circle of imports: {', '.join(sorted(circle))}"


def circles(edges: dict[str, set[str]]) -> Iterator[set[str]]:
    """Yield the sets of modules that reach one another, of more than one module."""
    reached = {module: _reached(module, edges) for module in edges}
    left = set(edges)
    while left:
        module = left.pop()
        circle = {o for o in reached[module] if module in reached.get(o, set())}
        left -= circle
        if len(circle) > 1:
            yield circle


def _reached(module: str, edges: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    queue = [module]
    while queue:
        for used in edges.get(queue.pop(), set()) - found:
            found.add(used)
            queue.append(used)
    return found


def is_late(module: str) -> bool:
    """Tell whether a module may only be imported where it is used."""
    if not module.startswith(DRY_RUN):
        return module in ON_FIRST_USE
    parts = module.split(".")
    return not {".".join(parts[:2]), ".".join(parts[:3])} & DRY_RUN_WITHOUT_TORCH


def main() -> int:
    """Check the tree given, or the one this file lies in."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1])
    broken = [*check_tables(), *check_cmake(root), *check_cpp(root)]
    broken += [*check_python(root), *check_rooms(root)]
    print("\n".join(broken) or "layers: every include and import follows the table")
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
