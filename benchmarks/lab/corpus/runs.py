# SPDX-License-Identifier: BSD-3-Clause
"""runs.py: the runs of a corpus, of any source.

A run is a trace, what is known of how it was made, and its truth: for each pattern
whose removal was carried out (recorded, scheduled or replayed), when each moment
of the run happens without it. All labels follow from that, for windows of any length::

    OUT/runs/NAME.json        what is known, see Run
    OUT/runs/NAME.npz         the truth: int64 [2, moments] for each "PATTERN@DEVICE"
    OUT/traces/NAME.json.gz   the trace, as a profiler would have written it

A run is complete when its JSON exists, which is written last: a restart keeps it.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar
from zipfile import BadZipFile

import numpy as np

Source = Literal["R", "S", "P", "G"]
Role = Literal["slow", "fixed", "null", "natural"]
Kind = TypeVar("Kind", bound="Run")

#: Means all patterns of a run at once.
ALL = "all"
#: Before a pattern that was put in and was there besides: the truth without either.
NATURAL_TOO = "natural-too:"
#: The device of what ran on the host alone.
HOST = -1

Truth = Mapping[tuple[str, int], np.ndarray]


@dataclass(frozen=True)
class Cause:
    """A pattern that was put into a run, or found in it, and could be taken out."""

    pattern: str  #: As torchtraceap names it.
    mechanism: str  #: The way it comes about; patterns have several each.
    strength: float  #: As drawn, 0 to 1; ``saved`` has its cost.
    null: bool = False  #: It was meant to cost nothing; what came of it is ``saved``.
    natural: bool = False  #: Not inserted; its removal was computed as well.
    saved: float = 0.0  #: Share of the run's span that goes without it.
    line: str = ""  #: FILE:LINE to blame, where there is one.
    #: Patterns that the same fix removes: each saves at most what the cause does.
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class Run:
    """What is known of a trace.

    Attributes:
        name: Unique in a corpus, of letters, digits, ``-``, ``_`` and ``.``.
        source: R recorded on a CPU, S simulated, P real and perturbed, G recorded on a
            GPU.
        group: Runs that share a program, an origin or a twin; never split.
        role: What it was made to be: ``slow`` holds causes, ``fixed`` is its twin
            without, ``null`` holds only causes meant to cost nothing, ``natural`` is as
            it was found.
        twin: Name of the run that is the other half of the pair; "" if none.
        task: One of the tasks of workloads/families.py; "" if not known.
        family: Of models; of P what the trace's name says.
        trains: Training or inference.
        gpu: Whose device work it is; "" of a CPU.
        origin: Of P: the repository or recorder its source comes from.
        held_out: Of P: nothing is ever trained on its origin.
        complete: All patterns that cost something were taken out in turn: what is not
            in the truth is a negative. If not, it is not known.
        unknown: Patterns of a complete run that it may have without anybody having put
            them in: known where the truth says that they cost, else only where they
            could not matter, see window_rows.labels.
        recording: Flags of the profiler and whatever else was drawn.
        causes: What is in it.
        seed: That it was drawn with.
    """

    name: str
    source: Source
    group: str
    role: Role
    task: str
    family: str
    trains: bool
    seed: int
    twin: str = ""
    gpu: str = ""
    origin: str = ""
    held_out: bool = False
    complete: bool = True
    unknown: tuple[str, ...] = ()
    recording: dict[str, Any] = field(default_factory=dict)
    causes: tuple[Cause, ...] = ()

    @classmethod
    def of_json(cls: type[Kind], known: Mapping[str, Any]) -> Kind:
        """Make a run of its JSON.

        Raises:
            KeyError, TypeError: A field is missing, or not known.
        """
        causes = tuple(
            Cause(**cause | {"also": tuple(cause.get("also", ()))})
            for cause in known["causes"]
        )
        unknown = tuple(known.get("unknown", ()))
        return cls(**{**known, "causes": causes, "unknown": unknown})


class DamagedError(ValueError):
    """A file of a run is not what was written; the message names it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(f"{path}: damaged; delete its run, and make it again")

    def __reduce__(self) -> tuple[type[DamagedError], tuple[Path]]:
        return DamagedError, (self.path,)  # Across processes.


def write(out: Path, run: Run, trace: bytes, truth: Truth) -> None:
    """Write a run; the last thing is its JSON.

    Args:
        out: Folder of the corpus.
        run: What is known.
        trace: Kineto's JSON, not compressed.
        truth: For (pattern, ALL or NATURAL_TOO + pattern, device): int64 [2, moments],
            ascending in both rows: nanoseconds on the trace's clock in this run, and
            without the pattern. At least the first and the last moment of the run. The
            device is the trace's number, or HOST.

    Raises:
        ValueError: Moments are of another shape or run backwards.
    """
    for (pattern, device), moments in truth.items():
        if moments.ndim != 2 or len(moments) != 2 or moments.shape[1] < 2:
            raise ValueError(f"{run.name}: {pattern}@{device} is {moments.shape}")
        if (np.diff(moments) < 0).any():
            raise ValueError(f"{run.name}: {pattern}@{device} runs backwards")
    for folder in ("runs", "traces"):
        (out / folder).mkdir(parents=True, exist_ok=True)
    trace_path(out, run.name).write_bytes(gzip.compress(trace, 6, mtime=0))
    arrays = {f"{p}@{d}": m.astype(np.int64) for (p, d), m in truth.items()}
    np.savez_compressed(out / "runs" / f"{run.name}.npz", **arrays)
    known = json.dumps(asdict(run), indent=1) + "\n"
    part = out / "runs" / f"{run.name}.part"
    part.write_text(known, "utf-8")
    os.replace(part, _run_path(out, run.name))


def exists(out: Path, name: str) -> bool:
    """Tell whether a run is complete."""
    return _run_path(out, name).exists()


def read(out: Path) -> Iterator[Run]:
    """Yield the complete runs of a corpus by name.

    Raises:
        DamagedError: The JSON of one is not what write() wrote.
    """
    for path in sorted((out / "runs").glob("*.json")):
        try:
            run = Run.of_json(json.loads(path.read_text("utf-8")))
        except (ValueError, TypeError, KeyError) as error:
            raise DamagedError(path) from error
        yield run


def read_truth(out: Path, name: str) -> dict[tuple[str, int], np.ndarray]:
    """Return the truth of a run, as it was written.

    Raises:
        DamagedError: It is not there, or not what was written.
    """
    path = out / "runs" / f"{name}.npz"
    found = {}
    try:
        with np.load(path) as arrays:
            for key in arrays.files:
                pattern, _, device = key.rpartition("@")
                found[pattern, int(device)] = arrays[key]
    except (OSError, ValueError, BadZipFile, zlib.error) as error:
        raise DamagedError(path) from error
    return found


def written_at(out: Path, name: str) -> float:
    """Return when a complete run was written, in seconds."""
    return _run_path(out, name).stat().st_mtime


def trace_path(out: Path, name: str) -> Path:
    """Return where the trace of a run is."""
    return out / "traces" / f"{name}.json.gz"


def saved_share(moments: np.ndarray, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return the share of each window's time that goes without a pattern.

    Below 0 where the window takes longer without. Between two moments time is taken to
    pass evenly; before the first and after the last nothing is saved.
    """
    before, after = moments

    def there(at: np.ndarray) -> np.ndarray:
        inside = np.interp(at, before, after)
        beyond = np.maximum(at - before[-1], 0) + np.minimum(at - before[0], 0)
        return inside + beyond

    length = np.maximum(end - begin, 1)
    return 1 - (there(end) - there(begin)) / length


def _run_path(out: Path, name: str) -> Path:
    return out / "runs" / f"{name}.json"
