# SPDX-License-Identifier: BSD-3-Clause
"""test_destinations.py: reports go to TensorBoard, W&B, MLflow and Prometheus, and are
read back by these packages themselves."""

from __future__ import annotations

import json
import os
import re
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.integrations.balance_image import balance_image
from torchtraceap.integrations.destination import Destination, tag
from torchtraceap.integrations.metrics import METRICS, OTHER, values_of
from torchtraceap.integrations.mlflow import MLflow
from torchtraceap.integrations.prometheus import Prometheus
from torchtraceap.integrations.tensorboard import TensorBoard
from torchtraceap.integrations.wandb import WandB

from .trace_builder import loader_trace, report_of

# Quotes, line ends, what separates labels, a half of a surrogate pair, thousands long.
HOSTILE = f'a"b\\c\n{{x="1"}} 2\n# TYPE evil gauge\u202e\0\ud800|`<b>{"n" * 3000}.py'

Told = dict[str, float]  # By the name of a number.


@pytest.fixture
def unusable(data: Path) -> torchtraceap.Report:
    report = torchtraceap.analyze(data / "a100-cupti-range-no-kernels.json.gz")
    assert report.quality.verdict == "unusable"
    return report


@pytest.fixture
def hostile() -> torchtraceap.Report:
    report = torchtraceap.analyze(loader_trace(file=HOSTILE))
    assert report.findings[0].location
    return report


@pytest.fixture
def every(
    slow_loader: torchtraceap.Report,
    cpu_only: torchtraceap.Report,
    unusable: torchtraceap.Report,
    hostile: torchtraceap.Report,
) -> list[torchtraceap.Report]:
    """Findings on a device, none without a device, nothing at all, hostile names."""
    return [slow_loader, cpu_only, unusable, hostile]


@pytest.fixture
def wandb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The package, which is set to write to a folder, and to send nothing."""
    module = pytest.importorskip("wandb")
    module.teardown()  # It keeps the settings of its first use.
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    for kind in ("DIR", "CACHE_DIR", "CONFIG_DIR", "DATA_DIR", "ARTIFACT_DIR"):
        monkeypatch.setenv(f"WANDB_{kind}", str(tmp_path))
    yield module
    module.teardown()


@pytest.fixture
def mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    module = pytest.importorskip("mlflow")
    before = module.get_tracking_uri()
    module.set_tracking_uri(f"file:{tmp_path}/mlruns")
    yield module
    module.set_tracking_uri(before)


def told(report: torchtraceap.Report) -> Told:
    """What a destination has to say of a report that it sees first, the step apart."""
    return {
        tag(value): value.value
        for value in values_of(report)
        if value.metric.full_name != "step"
        and (value.value or "pattern" not in value.metric.labels)
    }


# --- The numbers ----------------------------------------------------------------------


def test_the_numbers_are_those_of_the_report(slow_loader: torchtraceap.Report) -> None:
    numbers = told(slow_loader)
    (row,) = slow_loader.balance
    first = slow_loader.findings[0]
    assert first.pattern == "dataloader_bound" and first.recoverable_us
    expected = {
        "torchtraceap/trace_seconds": slow_loader.trace.span_us / 1e6,
        "torchtraceap/quality_level": 0,
        "torchtraceap_busy_ratio/0": row.busy_fraction,
        "torchtraceap_findings/missed_cuda_graph": 5,
        "torchtraceap_wasted_seconds/dataloader_bound": first.wasted_us / 1e6,
        "torchtraceap_recoverable_seconds/dataloader_bound": first.recoverable_us / 1e6,
    }
    assert {name: numbers[name] for name in expected} == pytest.approx(expected)
    idle = [v for name, v in numbers.items() if name.startswith("torchtraceap_idle_")]
    assert sum(idle) + row.busy_fraction == pytest.approx(1)


def test_what_is_not_known_is_not_told(
    cpu_only: torchtraceap.Report, unusable: torchtraceap.Report
) -> None:
    numbers = told(cpu_only)
    assert numbers["torchtraceap_busy_ratio/cpu"] > 0
    assert "torchtraceap/step_seconds" not in numbers  # it has no steps
    assert {*told(unusable)} == {
        "torchtraceap/trace_seconds",
        "torchtraceap/quality_level",
    }


def test_every_number_explains_itself(every: list[torchtraceap.Report]) -> None:
    seen = {v.metric.full_name for r in every for v in values_of(r, lines=3)}
    table = [metric for metrics in METRICS.values() for metric in metrics]
    assert seen == {metric.full_name for metric in table}, "none is dead"
    assert len(seen) == len(table)
    for metric in table:
        assert metric.help and metric.unit in ("", "seconds", "ratio")
    for report in every:
        for value in values_of(report, lines=3):
            assert len(value.labels) == len(value.metric.labels)
            assert re.fullmatch(r"[\w./-]+", tag(value), re.ASCII)


def test_lines_are_bounded(slow_loader: torchtraceap.Report) -> None:
    def lines(most: int) -> Told:
        values = values_of(slow_loader, most)
        return {v.labels[0]: v.value for v in values if v.metric.labels == ("line",)}

    assert lines(0) == {}
    whole = lines(100)
    two = lines(2)
    assert len(whole) > 3 and len(two) == 3
    assert sum(two.values()) == pytest.approx(sum(whole.values()))
    assert min(two, key=lambda line: two[line]) == OTHER


def test_devices_are_bounded() -> None:
    from .trace_builder import launched, profiler_step

    events = [
        one
        for number in range(40)
        for one in launched(number + 1, 10 + number, 100, 500, device=number)
    ]
    report = report_of(profiler_step(1, 0, 900), *events)
    assert len(report.balance) == 40
    shares = {
        v.labels[0]: v.value
        for v in values_of(report)
        if v.metric.full_name == "busy_ratio"
    }
    assert len(shares) == 17 and 0 < shares[OTHER] <= 1


def test_no_report_is_refused() -> None:
    with pytest.raises(TypeError, match="report of torchtraceap, not of type str"):
        list(values_of("trace.json"))


# --- Where a report stands ------------------------------------------------------------


class Kept(Destination):
    """Keeps what it is given."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.steps: list[int] = []
        self.names: list[set[str]] = []

    def _write(self, report: Any, values: Any, step: int) -> None:
        self.steps.append(step)
        self.names.append({tag(value) for value in values})


def test_the_step(
    slow_loader: torchtraceap.Report, cpu_only: torchtraceap.Report
) -> None:
    kept = Kept()
    for report in (cpu_only, slow_loader, cpu_only):
        kept(report)
    kept(cpu_only, 7)
    assert kept.steps == [0, slow_loader.steps[-1].number, 2, 7]
    numbers = iter((100, 200))
    kept = Kept(step=lambda: next(numbers))
    kept(slow_loader)
    kept(cpu_only)
    assert kept.steps == [100, 200]


def test_a_pattern_that_is_gone_is_told_at_0(
    slow_loader: torchtraceap.Report, cpu_only: torchtraceap.Report
) -> None:
    """Or a chart would go on showing its last value."""
    kept = Kept()
    for report in (cpu_only, slow_loader, cpu_only):
        kept(report)
    name = "torchtraceap_wasted_seconds/dataloader_bound"
    assert [name in names for names in kept.names] == [False, True, True]


# --- TensorBoard ----------------------------------------------------------------------


def events_of(folder: Path) -> Any:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    return EventAccumulator(str(folder)).Reload()


def board(where: Any, **options: Any) -> TensorBoard:
    pytest.importorskip("torch")
    pytest.importorskip("tensorboard")
    return TensorBoard(where, **options)


def test_tensorboard(every: list[torchtraceap.Report], tmp_path: Path) -> None:
    with board(tmp_path) as write:
        for step, report in enumerate(every):
            write(report, step)
    events = events_of(tmp_path)
    expected = told(every[0])
    for name, value in expected.items():
        first = events.Scalars(name)[0]
        assert (first.step, first.value) == (0, pytest.approx(value, rel=1e-6))
    texts = events.Tensors("torchtraceap/findings/text_summary")
    assert [text.step for text in texts] == [0, 1, 2, 3]
    shown = [text.tensor_proto.string_val[0].decode() for text in texts]
    assert "| `resnet50_profiler_api.py:42` |" in shown[0]
    assert "**What helps**" in shown[0] and "details>" not in shown[0]
    assert "Nothing can be said of this trace." in shown[2]
    images = events.Images("torchtraceap/balance")
    assert [image.step for image in images] == [0, 1, 3]  # none of the unusable one
    assert images[0].encoded_image_string.startswith(b"\x89PNG")


def test_a_writer_of_the_users_stays_open(
    slow_loader: torchtraceap.Report, tmp_path: Path
) -> None:
    pytest.importorskip("tensorboard")
    pytest.importorskip("torch")
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(str(tmp_path))
    with board(writer, step=lambda: 30) as write:
        write(slow_loader)
    writer.add_scalar("loss", 1.0, 31)
    writer.close()
    assert len(list(tmp_path.iterdir())) == 1
    events = events_of(tmp_path)
    assert events.Scalars("loss")[0].step == 31
    assert events.Scalars("torchtraceap/step_seconds")[0].step == 30


def test_where_must_be_a_place() -> None:
    with pytest.raises(TypeError, match="a folder or a SummaryWriter, but is of type"):
        board(5)


def test_every_rank_is_a_run(data: Path, tmp_path: Path) -> None:
    report = torchtraceap.analyze(data / "nccl-rank000of128-sampled.json.gz")
    with board(tmp_path / "runs") as write:
        write(report)
    Prometheus(tmp_path / "x.prom")(report)
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["rank0"]
    (quality,) = samples(tmp_path / "x-rank0.prom")["torchtraceap_quality_level"]
    assert quality.labels == {"rank": "0"}


def test_the_image_has_the_colors_of_the_page(
    slow_loader: torchtraceap.Report, unusable: torchtraceap.Report
) -> None:
    pytest.importorskip("PIL")
    image = balance_image(slow_loader)
    assert image is not None and image.shape[1:] == (480, 3)
    found = {tuple(int(v) for v in color) for row in image for color in row}
    assert {(0xB7, 0x47, 0x04), (0x25, 0x46, 0xC8)} <= found  # input and launch
    assert balance_image(unusable) is None


# --- Prometheus -----------------------------------------------------------------------


def samples(path: Path) -> dict[str, list[Any]]:
    parser = pytest.importorskip("prometheus_client.parser")
    families = parser.text_string_to_metric_families(path.read_text("utf-8"))
    return {family.name: family.samples for family in families}


def test_prometheus(every: list[torchtraceap.Report], tmp_path: Path) -> None:
    path = tmp_path / "x.prom"
    write = Prometheus(path, lines=2)
    for report in every:
        write(report)
        found = samples(path)
        expected = {tag(v).split("/")[0] for v in values_of(report) if v.value}
        assert expected - {"torchtraceap"} <= {*found}
        assert found["torchtraceap_quality_level"][0].value in (0, 1, 2)
        assert [entry.name for entry in tmp_path.iterdir()] == ["x.prom"]
    # Of the hostile one, last: one line, whose name is whole enough to be found.
    (line,) = [s.labels["line"] for s in found["torchtraceap_line_wasted_seconds"]]
    assert line.startswith('a"b\\c\\x0a{x="1"} 2') and line.endswith(".py in load()")
    assert len(line) == 120
    assert "evil" not in found


def test_prometheus_keeps_few_lines(
    slow_loader: torchtraceap.Report, tmp_path: Path
) -> None:
    path = tmp_path / "x.prom"
    Prometheus(path, lines=2)(slow_loader, 40)
    found = samples(path)
    lines = [s.labels["line"] for s in found["torchtraceap_line_wasted_seconds"]]
    assert len(lines) == 3 and lines[-1] == OTHER
    assert found["torchtraceap_step"][0].value == 40
    assert path.stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_prometheus_says_what_is_wrong(
    slow_loader: torchtraceap.Report, tmp_path: Path
) -> None:
    pytest.importorskip("prometheus_client")
    with pytest.raises(FileNotFoundError, match=r"absent is not there: make it, or"):
        Prometheus(tmp_path / "absent" / "x.prom")
    with pytest.raises(ValueError, match="lines must be at least 0, but is -1"):
        Prometheus(tmp_path / "x.prom", lines=-1)
    folder = tmp_path / "there"
    folder.mkdir()
    write = Prometheus(folder / "x.prom")
    folder.rmdir()
    with pytest.raises(FileNotFoundError, match=str(folder / "x.prom")):
        write(slow_loader)


# --- Weights & Biases -----------------------------------------------------------------


def records_of(folder: Path) -> list[Any]:
    """What W&B would send: its files are logs of LevelDB with a head of 7 bytes."""
    import wandb
    from wandb.proto.wandb_internal_pb2 import Record

    wandb.teardown()  # Its service writes the last after the run has finished.
    (path,) = folder.glob("wandb/offline-run-*/*.wandb")
    data = path.read_bytes()
    records, whole, at = [], b"", 7
    while at + 7 <= len(data):
        if (left := 32768 - at % 32768) < 7:
            at += left
            continue
        length, kind = struct.unpack("<HB", data[at + 4 : at + 7])
        whole += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # whole, or the last of its parts
            records.append(Record.FromString(whole))
            whole = b""
    return records


def rows_of(records: list[Any]) -> list[dict[str, Any]]:
    return [
        {
            item.key or "/".join(item.nested_key): json.loads(item.value_json)
            for item in record.history.item
        }
        for record in records
        if record.WhichOneof("record_type") == "history"
    ]


def test_wandb(every: list[torchtraceap.Report], wandb: Any, tmp_path: Path) -> None:
    with WandB() as log:
        for step, report in enumerate(every):
            log(report, step)
        assert wandb.run is None, "it never stands where a run of the user's would"
    records = records_of(tmp_path)
    rows = rows_of(records)
    assert [row["torchtraceap/step"] for row in rows] == [0, 1, 2, 3]
    expected = told(every[0])
    assert {name: rows[0][name] for name in expected} == pytest.approx(expected)
    tables = sorted(tmp_path.glob("wandb/*/files/media/table/torchtraceap/*_0_*.json"))
    table = json.loads(tables[0].read_text())
    assert len(table["data"]) == len(every[0].findings)
    assert table["columns"][:2] == ["id", "pattern"]
    sent = [r.request.log_artifact.artifact for r in records if r.HasField("request")]
    sent += [record.artifact for record in records if record.HasField("artifact")]
    artifacts = [one for one in sent if one.type == "profile"]
    assert len(artifacts) == 4
    entries = {entry.path for entry in artifacts[0].manifest.contents}
    assert entries == {"report.html", "report.json"}


def test_a_run_of_the_users_goes_on(
    slow_loader: torchtraceap.Report, wandb: Any, tmp_path: Path
) -> None:
    """And its rows are as they would be without us, but for what we add."""
    run = wandb.init(project="mine")
    try:
        with WandB(files=False) as log:
            run.log({"loss": 1.0}, step=5)
            log(slow_loader)
            run.log({"accuracy": 0.5}, step=5)
            run.log({"loss": 0.9}, step=6)
        assert wandb.run is run
    finally:
        run.finish()
    first, second = rows_of(records_of(tmp_path))
    assert (first["loss"], first["accuracy"], first["_step"]) == (1.0, 0.5, 5)
    assert first["torchtraceap/step"] == slow_loader.steps[-1].number
    assert (second["loss"], second["_step"]) == (0.9, 6)


# --- MLflow ---------------------------------------------------------------------------

# MLflow 3.17 asks pandas 3 for what that deprecates.
OLD_PANDAS = pytest.mark.filterwarnings("ignore:For backward compatibility, 'str'")


@OLD_PANDAS
def test_mlflow(every: list[torchtraceap.Report], mlflow: Any, tmp_path: Path) -> None:
    uri = f"file:{tmp_path}/own"
    log = MLflow(uri=uri)
    for step, report in enumerate(every):
        log(report, step)
    assert mlflow.active_run() is None
    client = mlflow.MlflowClient(tracking_uri=uri)
    experiment = client.get_experiment_by_name("torchtraceap")
    (run,) = client.search_runs([experiment.experiment_id])
    assert run.info.status == "FINISHED"
    expected = told(every[0])
    for name, value in expected.items():
        first = client.get_metric_history(run.info.run_id, name)[0]
        assert (first.step, first.value) == (0, pytest.approx(value))
    files = client.list_artifacts(run.info.run_id, "torchtraceap")
    folders = {f"torchtraceap/step-{step}" for step in range(4)}
    assert {file.path for file in files} == folders | {"torchtraceap/findings.json"}
    mlflow.set_tracking_uri(uri)  # load_table asks there, whatever the client's is.
    table = client.load_table(experiment.experiment_id, "torchtraceap/findings.json")
    assert list(table.pattern) == [f.pattern for r in every for f in r.findings]
    assert set(table.step) == {0, 3}
    page = Path(
        client.download_artifacts(
            run.info.run_id, "torchtraceap/step-0/report.html", str(tmp_path)
        )
    )
    assert page.read_text("utf-8") == every[0].to_html()


@OLD_PANDAS
def test_an_active_run_stays_active(
    slow_loader: torchtraceap.Report, mlflow: Any
) -> None:
    with mlflow.start_run() as run:
        MLflow(files=False)(slow_loader)
        assert mlflow.active_run().info.run_id == run.info.run_id
        mlflow.log_metric("loss", 1.0, step=3)
    given = MLflow(run)
    given(slow_loader, 50)
    client = mlflow.MlflowClient()
    history = client.get_metric_history(run.info.run_id, "torchtraceap/step_seconds")
    assert [one.step for one in history] == [slow_loader.steps[-1].number, 50]
    assert client.get_experiment_by_name("torchtraceap") is None


# --- As callbacks ---------------------------------------------------------------------


@OLD_PANDAS
def test_all_of_them_as_callbacks(wandb: Any, mlflow: Any, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from .small_work import work

    runs = tmp_path / "runs"
    with board(runs) as tensorboard, WandB() as wandb_run:
        callbacks = [
            tensorboard,
            wandb_run,
            MLflow(),
            Prometheus(tmp_path / "x.prom"),
        ]
        with torchtraceap.profile(
            quiet=True,
            wait=0,
            repeat=2,
            callbacks=callbacks,
            activities=[torch.profiler.ProfilerActivity.CPU],
        ) as prof:
            for _ in range(8):
                work()
                prof.step()
        last = [report.steps[-1].number for report in prof.reports]
        assert last == [3, 7]
    scalars = events_of(runs).Scalars("torchtraceap/step_seconds")
    assert [scalar.step for scalar in scalars] == last
    rows = rows_of(records_of(tmp_path))
    assert [row["torchtraceap/step"] for row in rows] == last
    assert samples(tmp_path / "x.prom")["torchtraceap_step"][0].value == 7


def test_a_failure_is_told_and_ends_nothing(
    slow_loader: torchtraceap.Report, tmp_path: Path
) -> None:
    pytest.importorskip("prometheus_client")
    folder = tmp_path / "there"
    folder.mkdir()
    handler = torchtraceap.Analyzer(
        callbacks=Prometheus(folder / "x.prom"), verbosity=0
    )
    folder.rmdir()
    with pytest.warns(RuntimeWarning, match=r"callback Prometheus: .*x\.prom"):
        handler.deliver(slow_loader, None)


@pytest.mark.parametrize(
    ("make", "package", "extra"),
    [
        (TensorBoard, "tensorboard", "tensorboard"),
        (WandB, "wandb", "wandb"),
        (MLflow, "mlflow", "mlflow"),
        (MLflow, "pandas", "mlflow"),
        (Prometheus, "prometheus_client", "prometheus"),
    ],
)
def test_an_absent_package_is_named(
    make: Callable[[str], object],
    package: str,
    extra: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"pip install 'torchtraceap\[{extra}\]'"):
        make("x")
