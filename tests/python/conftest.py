# SPDX-License-Identifier: BSD-3-Clause
"""conftest.py: the traces that tests read, and reports on them made once."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import torchtraceap
from torchtraceap import Report
from torchtraceap.cli import main

from .alarms import ctrl_c_is_heard as ctrl_c_is_heard
from .model_server import Server, local_model, serving
from .torch_forks import TorchForks

ROOT = Path(__file__).resolve().parents[2]

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


class Done(NamedTuple):
    """How the program ended, and what it wrote."""

    code: int
    out: str
    err: str

    def fine(self) -> str:
        """Return what was printed of a run that must have exit code 0."""
        assert self.code == 0, self.err
        return self.out


Cli = Callable[..., Done]


def python(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments; ``options`` are those of subprocess.run, which
    captures texts and waits for two minutes unless they say otherwise."""
    usual = {"capture_output": True, "text": True, "timeout": 120, "check": False}
    return subprocess.run([sys.executable, *map(str, arguments)], **usual | options)


# Tests compare what the program prints; it would be in color if this were set.
os.environ.pop("FORCE_COLOR", None)
# Only rules and the replay are exact: results in tests must not depend on weights.
# test_detection.py asks models of its own.
os.environ["TORCHTRACEAP_DETECTOR"] = "off"
# Torch in tests, and in what they start, uses one thread: tiny models gain nothing from
# more, which would wait for one another while other tests run beside these.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_configure(config: pytest.Config) -> None:
    """Let torch before 2.13 say that cycles forget the last one: it does so once a
    process, in the first test that records anything."""
    with contextlib.suppress(metadata.PackageNotFoundError):
        if [int(part) for part in metadata.version("torch").split(".")[:2]] < [2, 13]:
            said = "ignore:Warning. Profiler clears events"
            config.addinivalue_line("filterwarnings", said)


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the tree."""
    return ROOT


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of small real traces; its README tells where they are from."""
    return ROOT / "tests" / "data"


@pytest.fixture(scope="session")
def slow_loader(data: Path) -> Report:
    """ResNet-50 fed by a loader without workers: CUDA, source lines, six steps."""
    path = data / "kineto2021-v100-resnet50-workers0-memory.json.gz"
    return torchtraceap.analyze(path)


@pytest.fixture(scope="session")
def workers(data: Path) -> Report:
    """The same ResNet-50 with four workers."""
    return torchtraceap.analyze(data / "kineto2021-v100-resnet50-workers4.json.gz")


@pytest.fixture(scope="session")
def inference(data: Path) -> Report:
    """A small model on an H100, with Python frames."""
    return torchtraceap.analyze(data / "h100-vit-nsfw-inference.json.gz")


@pytest.fixture(scope="session")
def cpu_only(data: Path) -> Report:
    """A CPU trace without a device."""
    return torchtraceap.analyze(data / "cpu-macos-resnet18.json.gz")


@pytest.fixture(scope="session")
def program() -> Run:
    """Runs the program in this process: as one of its own, `own_process`, it does the
    same, and takes longer. Takes a folder, as `cwd`."""

    def run(
        *arguments: object, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
        with contextlib.ExitStack() as streams:
            streams.enter_context(contextlib.redirect_stdout(out))
            streams.enter_context(contextlib.redirect_stderr(err))
            if cwd is not None:
                streams.callback(os.chdir, os.getcwd())
                os.chdir(cwd)
            try:
                code = main([str(one) for one in arguments])
            except SystemExit as ended:
                code = int(ended.code or 0)
        written = []
        for stream in (out, err):
            stream.flush()
            written.append(stream.buffer.getvalue())  # type: ignore[attr-defined]
        return subprocess.CompletedProcess([], code, *written)

    return run


@pytest.fixture(scope="session")
def cli(program: Run) -> Cli:
    """As `program`, with what is written as text."""

    def run(*arguments: object, cwd: Path | None = None) -> Done:
        done = program(*arguments, cwd=cwd)
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture(scope="session")
def form_of() -> Callable[[Report], Any]:
    """Gives the JSON form of a report, having checked that it follows the schema."""
    jsonschema = pytest.importorskip("jsonschema")
    text = (files("torchtraceap") / "report.schema.json").read_text("utf-8")
    validator = jsonschema.Draft202012Validator(json.loads(text))

    def read(report: Report) -> Any:
        form = json.loads(report.to_json())
        validator.validate(form)
        return form

    return read


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def own_process() -> Run:
    """Runs ``python -m torchtraceap``; takes the options of subprocess.run."""

    def run(*arguments: object, **options: Any) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "torchtraceap", *map(str, arguments)]
        if "stdout" not in options:
            options.setdefault("capture_output", True)
        return subprocess.run(command, check=False, timeout=60, **options)

    return run


@pytest.fixture
def model_server() -> Iterator[Server]:
    """A server that plays a language model, and keeps what it was sent."""
    with serving() as server:
        yield server


@pytest.fixture(scope="session")
def llm_url() -> Iterator[str]:
    """The URL of a small real model on this machine (model_server.py)."""
    with local_model() as url:
        yield url


@pytest.fixture(scope="session")
def torch_forks() -> Iterator[TorchForks]:
    """Runs scripts in processes of their own that have torch loaded, if it is there."""
    forks = TorchForks()
    yield forks
    forks.close()


@pytest.fixture(scope="session")
def trainers() -> Iterator[TorchForks]:
    """Runs scripts that have the trainers loaded, too."""
    for module in ("accelerate", "transformers", "lightning"):
        pytest.importorskip(module)
    forks = TorchForks("accelerate", "transformers.trainer", "lightning.pytorch")
    yield forks
    forks.close()
