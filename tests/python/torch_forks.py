# SPDX-License-Identifier: BSD-3-Clause
"""torch_forks.py: runs scripts in processes of their own that have torch loaded.

Each is a fork of one process that imported it: what a script does to its process, how
it ends, what it leaves behind, all is its own, but for the seconds that imports take.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

# What scripts use, and what torch would import later, in whatever is profiled then.
IMPORTED = (
    "torch",
    "torch.utils.data",
    "torch._inductor.config",
    "torchtraceap",
    "torchtraceap.checking.sync_check",
    "torchtraceap_dryrun",
    "torchtraceap.profiling.live",
    "pytest",
)


class Ended(NamedTuple):
    """How a script ended."""

    code: int
    out: str
    err: str


class TorchForks:
    """The process that is forked; a script at a time."""

    def __init__(self) -> None:
        # What pytest tells its children about this test is no business of scripts.
        env = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
        self._server = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        )

    def run(
        self,
        script: str,
        *arguments: object,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        warn: str = "default",
    ) -> Ended:
        """Run the text of a script in a folder; `warn`, as of ``python -W``."""
        job: dict[str, Any] = {
            "script": script,
            "arguments": [str(one) for one in arguments],
            "cwd": str(cwd),
            "env": dict(env or {}),
            "warn": warn,
        }
        assert self._server.stdin is not None and self._server.stdout is not None
        with tempfile.TemporaryDirectory() as folder:
            job["out"], job["err"] = f"{folder}/out", f"{folder}/err"
            self._server.stdin.write(json.dumps(job) + "\n")
            self._server.stdin.flush()
            code = int(self._server.stdout.readline())
            out, err = (Path(job[name]).read_text("utf-8") for name in ("out", "err"))
        return Ended(code, out, err)

    def close(self) -> None:
        """End the process."""
        self._server.communicate(timeout=20)


def serve() -> None:
    """Fork for each line of standard input, and answer with the exit code."""
    import contextlib
    import gc
    import importlib

    for name in IMPORTED:
        with contextlib.suppress(ImportError):  # Some tests do without torch.
            importlib.import_module(name)
    gc.freeze()  # Forks need not look at what all of them have.
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            be(json.loads(line))
            return
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
    os._exit(0)  # Nothing of it is left to end in an orderly way.


def be(job: Mapping[str, Any]) -> None:
    """Be the process of a script; Python ends afterwards as it always does."""
    import faulthandler
    import signal
    import types
    import warnings

    faulthandler.enable()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.alarm(100)
    for descriptor, path in ((0, os.devnull), (1, job["out"]), (2, job["err"])):
        flags = os.O_RDWR | os.O_CREAT
        os.dup2(os.open(path, flags, 0o600), descriptor)
    os.chdir(job["cwd"])
    os.environ.update(job["env"])
    warnings.simplefilter(job["warn"])
    sys.argv = ["script.py", *job["arguments"]]
    sys.path[0] = ""  # The folder it is run in, and not that of this file.
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    exec(compile(job["script"], "script.py", "exec"), main.__dict__)


if __name__ == "__main__":
    serve()
