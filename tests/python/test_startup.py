# SPDX-License-Identifier: BSD-3-Clause
"""test_startup.py: Ctrl-C while the program is still being loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# Runs in the interpreter before anything of ours: as a module is looked for, the key is
# pressed; twice, as people do.
SITE = """
import os, signal, sys

class Pressed:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["PRESSED_AT"]:
            sys.stderr.write("pressed\\n")
            sys.meta_path.remove(self)
            try:
                os.kill(os.getpid(), signal.SIGINT)
            finally:
                os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Pressed())
"""

# What pip writes.
SCRIPT = "import sys\nfrom torchtraceap.cli import console\nsys.exit(console())\n"


def started(
    folder: Path, site: str, pressed_at: str, *command: object
) -> subprocess.CompletedProcess[str]:
    """Start Python with a site of this text."""
    (folder / "sitecustomize.py").write_text(site)
    paths = [str(folder), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    more = {"PYTHONPATH": os.pathsep.join(paths), "PRESSED_AT": pressed_at}
    return subprocess.run(
        [sys.executable, *map(str, command)],
        env=os.environ | more,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.usefixtures("ctrl_c_is_heard")
@pytest.mark.parametrize(
    ("module", "by_script"),
    [
        ("torchtraceap.cli.program", True),
        ("torchtraceap._core", False),
        ("torchtraceap.report", False),
        ("numpy", True),
    ],
)
def test_ctrl_c_ends_a_start(
    module: str, by_script: bool, tmp_path: Path, data: Path
) -> None:
    script = tmp_path / "torchtraceap"
    script.write_text(SCRIPT)
    entry = [script] if by_script else ["-m", "torchtraceap"]
    command = "inspect" if module == "numpy" else "analyze"
    trace = data / "mi250-rocm62-tiny.json.gz"
    ended = started(tmp_path, SITE, module, *entry, command, trace)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "pressed\n")


def test_who_ignores_ctrl_c_goes_on_ignoring_it(tmp_path: Path) -> None:
    """As what a shell starts in the background, or nohup."""
    ignore = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    command = ("-m", "torchtraceap", "--version")
    ended = started(tmp_path, ignore + SITE, "torchtraceap._core", *command)
    assert ended.returncode == 0 and ended.stderr == "pressed\n"
