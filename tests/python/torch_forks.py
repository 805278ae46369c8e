# SPDX-License-Identifier: BSD-3-Clause
"""torch_forks.py: runs scripts in processes of their own that have torch loaded.

Each is a fork of one process that imported it: what a script does to its process, how
it ends and what it leaves behind are its own, without the seconds that imports take.
"""

from __future__ import annotations

import json
import os
import socket
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


def sound(ended: Ended) -> str:
    """What a script printed that ended well."""
    assert ended.code == 0, ended.err
    return ended.out


class TorchForks:
    """The process that is forked, with `modules` besides; a script at a time."""

    def __init__(self, *modules: str) -> None:
        # Scripts must not see what pytest tells its children about this test.
        env = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
        self._server = subprocess.Popen(
            [sys.executable, __file__, *modules],
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
        return self.run_ranks(1, script, *arguments, cwd=cwd, env=env, warn=warn)[0]

    def run_ranks(
        self,
        ranks: int,
        script: str,
        *arguments: object,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        warn: str = "default",
        limit_s: int = 160,
    ) -> list[Ended]:
        """Run it in several processes, as torchrun does; `limit_s` is less than the
        limit of the test, which ends the process of all."""
        job: dict[str, Any] = {
            "script": script,
            "arguments": [str(one) for one in arguments],
            "cwd": str(cwd),
            "env": dict(env or {}),
            "warn": warn,
            "limit_s": limit_s,
            "ranks": [{}] if ranks == 1 else of_torchrun(ranks),
        }
        assert self._server.stdin is not None and self._server.stdout is not None
        with tempfile.TemporaryDirectory() as folder:
            job["folder"] = folder
            self._server.stdin.write(json.dumps(job) + "\n")
            self._server.stdin.flush()
            codes = json.loads(self._server.stdout.readline())
            return [
                Ended(
                    code,
                    Path(folder, f"out{rank}").read_text("utf-8"),
                    Path(folder, f"err{rank}").read_text("utf-8"),
                )
                for rank, code in enumerate(codes)
            ]

    def close(self) -> None:
        """End the process."""
        self._server.communicate(timeout=20)


def of_torchrun(ranks: int) -> list[dict[str, str]]:
    """The environment of each rank, as torchrun sets it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    of_all = {
        "WORLD_SIZE": str(ranks),
        "LOCAL_WORLD_SIZE": str(ranks),
        "GROUP_RANK": "0",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "TORCHELASTIC_RUN_ID": "test",
        "GLOO_SOCKET_IFNAME": "lo",
    }
    return [
        {**of_all, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(ranks)
    ]


def serve() -> None:
    """Fork for each line of standard input, and answer with the exit codes."""
    import contextlib
    import gc
    import importlib

    for name in (*IMPORTED, *sys.argv[1:]):
        with contextlib.suppress(ImportError):  # Some tests do without torch.
            importlib.import_module(name)
    gc.freeze()  # Forks need not look at what all of them have.
    for line in sys.stdin:
        job = json.loads(line)
        pids = []
        for rank in range(len(job["ranks"])):
            pids.append(os.fork())
            if pids[-1] == 0:
                be(job, rank)
                return
        ends = [os.waitpid(pid, 0)[1] for pid in pids]
        print(json.dumps([os.waitstatus_to_exitcode(end) for end in ends]), flush=True)
    os._exit(0)  # Nothing of it is left to end in an orderly way.


def be(job: Mapping[str, Any], rank: int) -> None:
    """Be a process of a script; Python ends afterwards as it always does."""
    import faulthandler
    import signal
    import types
    import warnings

    faulthandler.enable()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.alarm(job["limit_s"])
    out, err = (f"{job['folder']}/{name}{rank}" for name in ("out", "err"))
    for descriptor, path in ((0, os.devnull), (1, out), (2, err)):
        flags = os.O_RDWR | os.O_CREAT
        os.dup2(os.open(path, flags, 0o600), descriptor)
    os.chdir(job["cwd"])
    os.environ.update(job["env"] | job["ranks"][rank])
    warnings.simplefilter(job["warn"])
    torch = sys.modules.get("torch")
    if torch is not None and torch.__version__ < (2, 13):  # As in conftest.py.
        warnings.filterwarnings("ignore", "Warning: Profiler clears events")
    sys.argv = ["script.py", *job["arguments"]]
    sys.path[0] = ""  # The folder it is run in, and not that of this file.
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    exec(compile(job["script"], "script.py", "exec"), main.__dict__)


if __name__ == "__main__":
    serve()
