# SPDX-License-Identifier: BSD-3-Clause
"""test_layers.py: the layer check (`make lint`) finds each kind of violation."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.verify

CHECK = Path(__file__).with_name("check_layers.py")


def check(root: Path) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, CHECK, root],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout


def check_file(root: Path, file: str, text: str) -> tuple[int, str]:
    path = root / file
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return check(root)


@pytest.mark.parametrize(
    ("file", "line", "rule"),
    [
        ("cpp/trace/a.cpp", '#include "timeline/lanes.h"', "no other part"),
        ("cpp/timeline/a.h", '#include "patterns/pattern.h"', "may use trace"),
        ("cpp/timeline/a.cpp", "#include <simdjson.h>", "simdjson stays"),
        ("cpp/trace/a.h", "#include <simdjson.h>", "simdjson stays"),
        ("cpp/trace/a.h", "#include <zlib.h>", "inflaters stay"),
        ("cpp/patterns/a.cpp", '#include "patterns/rules/b/c.h"', "for that rule"),
        ("cpp/patterns/a.cpp", "#include <torch/torch.h>", "torch is known to"),
        ("cpp/pipeline/a.cpp", "#include <pybind11/stl.h>", "Python is known to"),
        ("cpp/detector/a.cpp", "#include <torch/extension.h>", "Python is known to"),
        ("cpp/detector/a.cpp", '#include "patterns/finding.h"', "may use"),
        ("cpp/detector/a.cpp", '#include "replay/model.h"', "may use"),
        ("cpp/features/a.cpp", '#include "patterns/finding.h"', "may use"),
        ("cpp/features/a.cpp", '#include "pipeline/report.h"', "may use"),
        ("cpp/pipeline/report.h", '#include "pipeline/story/a.h"', "may use"),
        ("cpp/patterns/pattern.h", '#include "patterns/rule.h"', "may use"),
        ("cpp/features/a.h", "#include <torch/torch.h>", "torch is known to"),
        ("cpp/pipeline/a.cpp", '#include "detector/net.h"', "pipeline may use"),
        ("cpp/pipeline/quality/a.cpp", '#include "pipeline/pricing/b.h"', "may use"),
        ("cpp/pipeline/story/a.h", '#include "pipeline/analyze.h"', "may use"),
        ("cpp/pipeline/a.cpp", "#include <torch/torch.h>", "torch is known to"),
        ("cpp/detector/a.cu", "#include <torch/torch.h>", "torch is known to"),
        ("cpp/bindings/core_a.cpp", "#include <torch/torch.h>", "torch is known"),
        ("cpp/bindings/core_a.cpp", '#include "detector/net.h"', "without torch"),
        ("cpp/trace/a.cpp", "#include <boost/any.hpp>", "unknown library"),
        ("cpp/trace/a.cpp", '#include "b.h"', "includes start at cpp/"),
        ("cpp/trace/a.cpp", '#include "zlib/zlib.h"', "not a part"),
        ("cpp/trace/a.h", "#include <gtest/gtest.h>", "stay in tests"),
        ("cpp/helpers/a.h", "", "is in no part"),
        ("cpp/replay/a.cpp", '#include "lab/cpp/perturbation.h"', "replay may use"),
        ("benchmarks/lab/cpp/a.h", '#include "detector/net.h"', "lab may use"),
        ("benchmarks/lab/cpp/a.h", "#include <pybind11/stl.h>", "Python is known"),
        ("benchmarks/lab/corpus/a.py", "import sys\nsys.path += []", "python -m"),
        ("benchmarks/lab/a.py", "from benchmarks.loader import b", "lab is below"),
        ("python/torchtraceap/base/a.py", "def f():\n import benchmarks", "installed"),
        ("tests/cpp/trace/a.cpp", '#include "timeline/lanes.h"', "no other part"),
        ("tests/cpp/timeline/a.cpp", "#include <torch/torch.h>", "torch is known"),
        ("cpp/trace/a.cpp", '#include "support/build.h"', "not a part"),
        ("tests/cpp/support/a.h", '#include "timeline/lanes.h"', "may use trace"),
        ("python/torchtraceap/base/a.py", "import torch", "inside the function"),
        (
            "python/torchtraceap/base/a.py",
            "from torch import nn",
            "inside the function",
        ),
        (
            "python/torchtraceap/base/a.py",
            "from torchtraceap import _torch",
            "inside the function",
        ),
        (
            "python/torchtraceap/cli/a.py",
            "from torchtraceap.checking.cpu_watch import a",
            "inside the function",
        ),
        (
            "python/torchtraceap/base/a.py",
            "if True:\n import pandas",
            "inside the function",
        ),
        (
            "python/torchtraceap/base/a.py",
            "class A:\n import torch",
            "inside the function",
        ),
    ],
)
def test_a_forbidden_line_is_found(
    tmp_path: Path, file: str, line: str, rule: str
) -> None:
    code, output = check_file(tmp_path, file, line)
    assert code == 1
    assert output.startswith(f"{file}:")
    assert rule in output
    assert output.count("\n") == 1


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("tta_add_part(features PUBLIC tta_timeline PRIVATE tta_patterns)", "links"),
        ("tta_add_part(features PUBLIC tta_timeline)", "patterns/pattern.h"),
        ("tta_add_part(timeline PUBLIC\n  tta_trace tta_detector)", "detector"),
        ("tta_add_part(helpers)", "helpers is not in"),
    ],
)
def test_what_is_linked_is_what_may_be_included(
    tmp_path: Path, line: str, rule: str
) -> None:
    below = ["tta_add_part(trace)", "tta_add_part(timeline PUBLIC tta_trace)"]
    below = [known for known in below if known.split()[0] != line.split()[0]]
    code, output = check_file(tmp_path, "cpp/CMakeLists.txt", "\n".join([*below, line]))
    assert code == 1 and output.startswith("cpp/CMakeLists.txt:")
    assert rule in output and output.count("\n") == 1


def test_a_room_does_not_look_up_nor_in_a_circle(tmp_path: Path) -> None:
    package = tmp_path / "python" / "torchtraceap"
    for name in ("views", "gate"):
        (package / name).mkdir(parents=True)
    up = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from {} import B\n"
    (package / "gate" / "b.py").write_text("B = 1\n")
    (package / "views" / "a.py").write_text(up.format("torchtraceap.gate.b"))
    (package / "views" / "c.py").write_text(
        "def f():\n    from torchtraceap.views import d\n"
    )
    (package / "views" / "d.py").write_text("import torchtraceap.views.c\n")
    (package / "cellar.py").write_text("")
    dry_run = tmp_path / "python" / "torchtraceap_dryrun"
    dry_run.mkdir()
    (dry_run / "a.py").write_text("def f():\n    import torchtraceap.gate.b\n")
    code, output = check(tmp_path)
    assert code == 1
    assert output.splitlines() == [
        "python/torchtraceap/cellar.py:1: cellar is not in the table of subpackages",
        "python/torchtraceap/views/a.py:3: imports torchtraceap.gate.b: views is "
        "below gate",
        "python/torchtraceap_dryrun/a.py:2: imports torchtraceap.gate.b: "
        "torchtraceap_dryrun may use analysis, base, report, waits only",
        "python:1: an import cycle: torchtraceap.views.c, torchtraceap.views.d",
    ]


@pytest.mark.parametrize(
    ("file", "line", "rule"),
    [
        ("base/a.py", "from torchtraceap import analyze", "from its module"),
        ("base/a.py", "import torchtraceap", "from its module"),
        ("base/a.py", "from torchtraceap import pytest_plugin", "from its module"),
        ("base/__init__.py", "from torchtraceap.cli.output import *", "below cli"),
        ("base/pytest_plugin.py", "import torchtraceap.gate.b", "below gate"),
        ("base/a.py", "import_module('torchtraceap.gate.b')", "below gate"),
        ("base/a.py", "def f():\n from . import b", "a relative import"),
        ("views/a.py", "def f():\n from rich.text import Text", "only the program"),
    ],
)
def test_no_import_gets_around_the_rooms(
    tmp_path: Path, file: str, line: str, rule: str
) -> None:
    package = tmp_path / "python" / "torchtraceap"
    (package / "gate").mkdir(parents=True)
    (package / "gate" / "b.py").write_text("")
    code, output = check_file(tmp_path, f"python/torchtraceap/{file}", line)
    assert code == 1
    assert rule in output


def test_no_part_of_the_core_reaches_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(CHECK.parent)
    spec = importlib.util.spec_from_file_location("check_layers", CHECK)
    assert spec and spec.loader
    tables = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "check_layers", tables)
    spec.loader.exec_module(tables)
    assert not list(tables.check_tables())
    monkeypatch.setitem(tables.PARTS, "patterns", ["replay", "detector"])
    assert [line.partition(": ")[2] for line in tables.check_tables()] == [
        "pipeline may reach detector, so torch"
    ]


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("cpp/trace/a.cpp", "#include <simdjson.h>\n#include <sys/mman.h>"),
        ("cpp/patterns/rules/a.cpp", '#include "trace/trace.h"\n#include <vector>'),
        ("cpp/patterns/rules/b.cpp", '#include "patterns/rules/b/c.h"'),
        ("cpp/patterns/rules/b/d.h", '#include "patterns/rules/b/c.h"'),
        ("cpp/detector/a.cpp", '#include "patterns/pattern.h"'),
        ("cpp/detector/a.cpp", '#include "features/features.h"'),
        ("cpp/features/a.cpp", '#include "patterns/pattern.h"'),
        ("cpp/pipeline/a.cpp", '#include "features/features.h"'),
        ("cpp/pipeline/a.cpp", '#include "pipeline/quality/a.h"'),
        ("cpp/pipeline/quality/a.cpp", '#include "pipeline/report.h"'),
        ("tests/cpp/pipeline/quality/a.cpp", '#include "pipeline/analyze.h"'),
        ("cpp/detector/a.h", "#include <torch/torch.h>"),
        ("cpp/bindings/torch_a.cpp", "#include <torch/extension.h>"),
        (
            "cpp/CMakeLists.txt",
            "tta_add_part(trace PRIVATE x::x $<TARGET_NAME_IF_EXISTS:tta_isal>)\n"
            "tta_add_part(timeline PUBLIC tta_trace)  # tta_detector\n"
            "tta_add_part(features PUBLIC tta_timeline PRIVATE tta_pattern_names)",
        ),
        ("cpp/bindings/core_a.cpp", "#include <pybind11/pybind11.h>"),
        (
            "benchmarks/lab/cpp/module.cpp",
            "#include <pybind11/stl.h>\n"
            '#include "bindings/analysis.h"\n#include "pipeline/pricing/what_if.h"',
        ),
        ("benchmarks/loader/a.py", "from benchmarks.lab.pages import Page"),
        ("tests/cpp/trace/a.cpp", "#include <gtest/gtest.h>\n#include <zlib.h>"),
        ("tests/cpp/timeline/a.cpp", '#include "build.h"\n#include "trace/build.h"'),
        ("tests/cpp/trace/a.cpp", '#include "support/build.h"'),
        ("tests/cpp/support/a.h", '#include "trace/trace.h"'),
        (
            "python/torchtraceap/base/a.py",
            "def f():\n import torch\n from torchtraceap import _torch",
        ),
        (
            "python/torchtraceap/base/a.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n import torch",
        ),
        (
            "python/torchtraceap/checking/cpu_watch.py",
            "import torch\nfrom torchtraceap.checking import gpu_watch",
        ),
        ("python/torchtraceap/pytest_plugin.py", "import pytest"),
    ],
)
def test_an_allowed_line_is_let_pass(tmp_path: Path, file: str, line: str) -> None:
    assert check_file(tmp_path, file, line)[0] == 0


def test_a_type_is_defined_once(tmp_path: Path) -> None:
    text = "namespace a {{\n{}\n}}  // namespace a\n"
    folder = tmp_path / "cpp" / "trace"
    folder.mkdir(parents=True)
    for name, line in {
        "a.h": "struct One {\n};\nclass Two;\nstruct Two::Own {};\nclass Three {};",
        "b.h": "class Two\n    : One {};\nstruct Own {};\nstruct Three {};",
        "c.cpp": "namespace {\nstruct One {};\n}  // namespace",
    }.items():
        (folder / name).write_text(text.format(line))
    code, said = check(tmp_path)
    assert code == 1
    assert said == "cpp/trace/b.h:5: defines a::Three: cpp/trace/a.h:6 does too\n"
