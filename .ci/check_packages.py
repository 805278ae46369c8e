# SPDX-License-Identifier: BSD-3-Clause
"""check_packages.py: checks the imports of the Python packages against these tables.

check_layers.py calls it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

# --- The tables -------------------------------------------------------------------

# The subpackages, lowest first; each may use those before it.
# A subpackage is a folder or a module of python/torchtraceap, or a package beside it.
SUBPACKAGES = [
    "base",  # does not depend on traces: arguments, errors, units, text, files
    "waits",  # operators that make a host wait, and the verdict on them
    "data",  # from a source to the parts of a report
    "detection",  # the results of the learned detector, as plain data
    "report_data",  # the contents of a report
    "views",  # a report as text, page, table, file
    "gate",  # budgets and comparisons
    "explain",  # explanations of findings, and a model's second opinion
    "report",  # the class Report: the data and the views of it
    "analysis_plan",
    "ranks",  # the ranks of one job
    "fleets",  # thousands of traces as one data set
    "profiling",  # live profilers
    "analysis",
    "edits",
    "replaying",
    "comparison",
    "torchtraceap_dryrun",  # runs code for a GPU without one
    "torchtraceap_train",  # trains the detector
    "mcp_server",  # analyses for agents
    "service",  # analyses over HTTP
    "integrations",  # trainers, and destinations of reports
    "checking",  # pytest and SyncCheck
    "cli",  # the program
]
# A subpackage listed here may use these only: the dry run passes its simulated trace to
# `analyze` and needs nothing else.
ONLY = {"torchtraceap_dryrun": {"base", "waits", "analysis", "report"}}
# Modules that no other may import; and the extension modules, which may be imported
# from the package itself, like its subpackages.
ON_TOP = {"torchtraceap", "torchtraceap.__main__", "torchtraceap.pytest_plugin"}
OF_THE_PACKAGE = {"_core", "_torch"}
PACKAGES = ("torchtraceap", "torchtraceap_dryrun", "torchtraceap_train")

# Packages that a module may import at its top level.
IMPORT_AT_TOP = {*PACKAGES, "numpy", *sys.stdlib_module_names}
# Files that only pytest loads.
IMPORT_AT_TOP_OF = {f"pytest_{name}.py": {"pytest"} for name in ("plugin", "hooks")}
# This package draws on a terminal. Only the program and the progress bar use it: the
# library returns plain text.
DRAWS = "rich"
MAY_DRAW = ("torchtraceap.cli.", "torchtraceap.base.progress")
# Modules whose definitions need torch or an extra, for example as a base class. They
# may import anything, and are imported inside functions only, or by each other.
ON_FIRST_USE = {
    "torchtraceap._torch",
    "torchtraceap.checking.cpu_watch",
    "torchtraceap.checking.gpu_watch",
    "torchtraceap.explain.model.client",
    "torchtraceap.integrations.accelerate",
    "torchtraceap.integrations.lightning",
    "torchtraceap.integrations.transformers",
    "torchtraceap.mcp_server.server",
    "torchtraceap.mcp_server.tools",
    "torchtraceap.profiling.recorder",
    "torchtraceap.service.app",
    "torchtraceap.service.examples",
    "torchtraceap.service.guard",
    "torchtraceap.service.problems",
    "torchtraceap.service.protocol",
    "torchtraceap.service.server",
    "torchtraceap.service.uploads",
    "torchtraceap.waits.written",
}
# A dry run is built on torch, so all of its modules are of this kind, except these and
# all modules in the folders among them.
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

# --- The checks -------------------------------------------------------------------


def imports_at_top(body: list[ast.stmt]) -> Iterator[tuple[int, str]]:
    """Yield line and dotted name of each import that runs with the module's own."""
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
    """Yield a message for each import that must be inside a function, and for each
    import of the drawing package outside of the modules that may draw."""
    for path in modules_of(root):
        name, tree = name_of(path, root), ast.parse(path.read_text())
        if not name.startswith(MAY_DRAW):
            for node in ast.walk(tree):
                if isinstance(node, ast.Import | ast.ImportFrom) and any(
                    used.split(".")[0] == DRAWS for _, used in imports_at_top([node])
                ):
                    where = f"{path.relative_to(root)}:{node.lineno}"
                    yield f"{where}: imports {DRAWS}: only the program draws"
        if is_late(name):
            continue
        allowed = IMPORT_AT_TOP | IMPORT_AT_TOP_OF.get(path.name, set())
        reported = set()
        for line, used in imports_at_top(tree.body):
            late = is_late(used) or used.split(".")[0] not in allowed
            if late and line not in reported:
                reported.add(line)
                yield (
                    f"{path.relative_to(root)}:{line}: imports {used}: "
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


def subpackage_of(module: str) -> str:
    """Return the subpackage of a dotted name; of the package itself, its name."""
    package, _, inner = module.partition(".")
    return inner.split(".")[0] or package if package == PACKAGES[0] else package


def is_ours(module: str) -> bool:
    """Return whether a dotted name is one of the packages, or in one."""
    return module.split(".")[0] in PACKAGES


def edges_of(path: Path, known: set[str]) -> Iterator[tuple[int, str]]:
    """Yield line and name of each import of our packages in a file, including those
    inside functions and those for types. The name of a relative import is ""."""
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


def check_subpackages(root: Path) -> Iterator[str]:
    """Yield a message for each import of a higher subpackage, and for import cycles."""
    files = {name_of(path, root): path for path in modules_of(root)}
    edges: dict[str, set[str]] = {}
    for module, path in files.items():
        if module in ON_TOP:
            continue
        subpackage = subpackage_of(module)
        if subpackage not in SUBPACKAGES:
            where = path.relative_to(root)
            yield f"{where}:1: {subpackage} is not in the table of subpackages"
            continue
        for line, used in edges_of(path, set(files)):
            where = f"{path.relative_to(root)}:{line}"
            other = subpackage_of(used)
            if not used:
                yield f"{where}: a relative import; use the full name"
            elif other in OF_THE_PACKAGE:
                continue
            elif used in ON_TOP or other not in SUBPACKAGES:
                yield f"{where}: imports {used}: import from its module instead"
            elif SUBPACKAGES.index(other) > SUBPACKAGES.index(subpackage):
                yield f"{where}: imports {used}: {subpackage} is below {other}"
            elif other not in ONLY.get(subpackage, {*SUBPACKAGES}) | {subpackage}:
                only = ", ".join(sorted(ONLY[subpackage]))
                yield f"{where}: imports {used}: {subpackage} may use {only} only"
            elif used in files and files[used].stem != "__init__":
                edges.setdefault(module, set()).add(used)
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        circle = ", ".join(sorted(set(error.args[1])))
        yield f"python:1: an import cycle: {circle}"


def check_benchmarks(root: Path) -> Iterator[str]:
    """Yield a message for each import of benchmarks in the product, each import of
    other benchmarks in the laboratory, and each use of sys.path in benchmarks."""
    for path in [*modules_of(root), *sorted((root / "benchmarks").rglob("*.py"))]:
        where = path.relative_to(root).as_posix()
        of_product = where.startswith("python/")
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            elif not of_product and is_the_path(node):
                yield f"{where}:{node.lineno}: uses sys.path: run it with python -m"
            for name in names:
                parts = name.split(".")
                others = parts[0] == "benchmarks" and parts[1:2] not in ([], ["lab"])
                if of_product and parts[0] == "benchmarks":
                    yield f"{where}:{node.lineno}: imports {name}: it is not installed"
                elif where.startswith("benchmarks/lab/") and others:
                    yield f"{where}:{node.lineno}: imports {name}: lab is below it"


def is_the_path(node: ast.AST) -> bool:
    """Return whether a node is sys.path."""
    if not isinstance(node, ast.Attribute) or node.attr != "path":
        return False
    return isinstance(node.value, ast.Name) and node.value.id == "sys"


def is_late(module: str) -> bool:
    """Return whether a module may only be imported inside functions."""
    if not module.startswith(DRY_RUN):
        return module in ON_FIRST_USE
    parts = module.split(".")
    return not {".".join(parts[:2]), ".".join(parts[:3])} & DRY_RUN_WITHOUT_TORCH
