"""
The learned model of torchtraceap, which needs torch.
"""

from __future__ import annotations

import collections.abc
import typing

import numpy
import numpy.typing

__all__: list[str] = [
    "Arrays",
    "Config",
    "Example",
    "LossWeights",
    "Model",
    "Network",
    "StepResult",
    "Training",
    "pattern_names",
    "relabel",
    "rules_input",
    "rules_logit",
    "strangeness",
    "trees_raw",
]

class Arrays:
    """
    Those of Features, checked; nothing is copied.
    """
    def __init__(
        self,
        windows: numpy.ndarray,
        tokens: collections.abc.Mapping[str, numpy.ndarray],
        token_begin: numpy.ndarray,
    ) -> None: ...
    def __len__(self) -> int: ...

class Example:
    """
    Windows of a trace and their labels: see detector/detector.h.
    """
    def __init__(
        self,
        arrays: Arrays,
        first: typing.SupportsInt | typing.SupportsIndex = 0,
        last: typing.SupportsInt | typing.SupportsIndex | None = None,
        *,
        any: numpy.ndarray | None = None,
        types: numpy.ndarray | None = None,
        recoverable: numpy.ndarray | None = None,
        bad: bool | None = None,
        pair: typing.SupportsInt | typing.SupportsIndex = -1,
    ) -> None: ...

class Config:
    """
    The settings of a network: see detector/config.h.
    """
    def __init__(self, **kwargs: typing.Any) -> None: ...
    @property
    def dropout(self) -> float:
        """
        of activations that are zeroed in training
        """
    @dropout.setter
    def dropout(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None: ...
    @property
    def heads(self) -> int:
        """
        of each attention; divides the width
        """
    @heads.setter
    def heads(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None: ...
    @property
    def hidden(self) -> int:
        """
        values between the two halves of a layer
        """
    @hidden.setter
    def hidden(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None: ...
    @property
    def layers(self) -> int:
        """
        over the events of a window
        """
    @layers.setter
    def layers(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None: ...
    @property
    def max_tokens(self) -> int:
        """
        events of a window that are read, repeats left out
        """
    @max_tokens.setter
    def max_tokens(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None: ...
    @property
    def name_dropout(self) -> float:
        """
        of events whose names are hidden in training
        """
    @name_dropout.setter
    def name_dropout(
        self, arg0: typing.SupportsFloat | typing.SupportsIndex
    ) -> None: ...
    @property
    def reach(self) -> int:
        """
        windows before and after that a window attends to
        """
    @reach.setter
    def reach(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None: ...
    @property
    def trace_layers(self) -> int:
        """
        over the windows of a trace
        """
    @trace_layers.setter
    def trace_layers(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None: ...
    @property
    def width(self) -> int:
        """
        values that describe an event and a window
        """
    @width.setter
    def width(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None: ...
    @property
    def without(self) -> list[str]: ...
    @without.setter
    def without(self, arg0: collections.abc.Sequence[str]) -> None: ...
    @property
    def word_width(self) -> int:
        """
        values that describe a word of a name
        """
    @word_width.setter
    def word_width(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None: ...

class LossWeights:
    """
    The weight of each loss.
    """
    def __init__(self, **kwargs: typing.Any) -> None: ...
    @property
    def any(self) -> float: ...
    @any.setter
    def any(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None: ...
    @property
    def bags(self) -> float: ...
    @bags.setter
    def bags(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None: ...
    @property
    def masked(self) -> float: ...
    @masked.setter
    def masked(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None: ...
    @property
    def pairs(self) -> float: ...
    @pairs.setter
    def pairs(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None: ...
    @property
    def recoverable(self) -> float: ...
    @recoverable.setter
    def recoverable(
        self, arg0: typing.SupportsFloat | typing.SupportsIndex
    ) -> None: ...
    @property
    def types(self) -> float: ...
    @types.setter
    def types(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None: ...

class Training:
    """
    The settings of a training.
    """

    weights: LossWeights
    def __init__(self, **kwargs: typing.Any) -> None: ...
    @property
    def batch_tokens(self) -> int: ...
    @batch_tokens.setter
    def batch_tokens(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None: ...
    @property
    def clip(self) -> float: ...
    @clip.setter
    def clip(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None: ...
    @property
    def learning_rate(self) -> float: ...
    @learning_rate.setter
    def learning_rate(
        self, arg0: typing.SupportsFloat | typing.SupportsIndex
    ) -> None: ...
    @property
    def masked_share(self) -> float: ...
    @masked_share.setter
    def masked_share(
        self, arg0: typing.SupportsFloat | typing.SupportsIndex
    ) -> None: ...
    @property
    def steps(self) -> int: ...
    @steps.setter
    def steps(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None: ...
    @property
    def threads(self) -> int: ...
    @threads.setter
    def threads(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None: ...
    @property
    def top_share(self) -> float: ...
    @top_share.setter
    def top_share(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None: ...
    @property
    def warm_up(self) -> int: ...
    @warm_up.setter
    def warm_up(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None: ...
    @property
    def weight_decay(self) -> float: ...
    @weight_decay.setter
    def weight_decay(
        self, arg0: typing.SupportsFloat | typing.SupportsIndex
    ) -> None: ...

class StepResult:
    """
    The result of a training step.
    """
    @property
    def any(self) -> float: ...
    @property
    def bags(self) -> float: ...
    @property
    def gradient(self) -> float: ...
    @property
    def loss(self) -> float: ...
    @property
    def masked(self) -> float: ...
    @property
    def pairs(self) -> float: ...
    @property
    def rate(self) -> float: ...
    @property
    def recoverable(self) -> float: ...
    @property
    def step(self) -> int: ...
    @property
    def types(self) -> float: ...

class Network:
    """
    The learned model: see detector/detector.h.
    """
    @staticmethod
    def load(path: str, device: str = "cpu") -> Network: ...
    def __init__(
        self,
        config: Config = ...,
        seed: typing.SupportsInt | typing.SupportsIndex = 0,
        device: str = "cpu",
    ) -> None: ...
    def fit_columns(self, traces: collections.abc.Sequence[Arrays]) -> None: ...
    def restart(self, seed: typing.SupportsInt | typing.SupportsIndex) -> None:
        """
        Keep the weights and start a new training with this seed.
        """
    def save(
        self, path: str, *, training: bool, card: collections.abc.Mapping[str, str] = {}
    ) -> None: ...
    def score(
        self,
        arrays: Arrays,
        *,
        events: typing.SupportsInt | typing.SupportsIndex = 0,
        batch_tokens: typing.SupportsInt | typing.SupportsIndex = 2048,
        threads: typing.SupportsInt | typing.SupportsIndex = 0,
        bfloat16: bool = False,
    ) -> dict[str, numpy.ndarray]: ...
    def train_step(
        self, examples: collections.abc.Sequence[Example], training: Training
    ) -> StepResult: ...
    @property
    def card(self) -> dict[str, str]:
        """
        The metadata of the file that it was read from.
        """
    @property
    def config(self) -> Config: ...
    @property
    def parameters(self) -> int: ...
    @property
    def steps_done(self) -> int: ...

class Model:
    """
    A network and its stack, in one file: see detector/model.h.
    """
    @staticmethod
    def load(path: str, device: str = "cpu") -> Model: ...
    def __init__(
        self,
        network: Network,
        *,
        trees: collections.abc.Mapping[str, numpy.ndarray] | None = None,
        mix: numpy.ndarray | None = None,
        types_mix: typing.Annotated[
            collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex],
            "FixedSize(3)",
        ] = [1.0, 0.0, 0.0],
        recoverable_mix: typing.SupportsFloat | typing.SupportsIndex = 1.0,
        calibration: typing.Annotated[
            collections.abc.Sequence[numpy.ndarray], "FixedSize(2)"
        ]
        | None = None,
        known: collections.abc.Mapping[str, typing.Any] | None = None,
        card: collections.abc.Mapping[str, str] = {},
    ) -> None: ...
    def save(self, path: str) -> None: ...
    def say(
        self,
        arrays: Arrays,
        *,
        events: typing.SupportsInt | typing.SupportsIndex = 0,
        batch_tokens: typing.SupportsInt | typing.SupportsIndex = 2048,
        threads: typing.SupportsInt | typing.SupportsIndex = 0,
        bfloat16: bool = False,
        claimed: numpy.ndarray | None = None,
    ) -> dict[str, numpy.ndarray]:
        """
        All windows; `claimed` float32 [n, 2]: the shares that rules claim of CPU and GPU; None: those in the arrays.
        """
    def threshold(
        self,
        side: typing.SupportsInt | typing.SupportsIndex,
        false_alarms: typing.SupportsFloat | typing.SupportsIndex,
    ) -> float: ...
    def with_mix(
        self,
        mix: numpy.ndarray,
        calibration: typing.Annotated[
            collections.abc.Sequence[numpy.ndarray], "FixedSize(2)"
        ],
        card: collections.abc.Mapping[str, str],
    ) -> Model:
        """
        The same network and trees, read together with other weights, and flagged by other thresholds.
        """
    def with_network(
        self, network: Network, card: collections.abc.Mapping[str, str]
    ) -> Model:
        """
        Another network, read together with the same trees and thresholds.
        """
    @property
    def card(self) -> dict[str, str]: ...
    @property
    def device(self) -> str: ...
    @property
    def network(self) -> Network: ...
    @property
    def patterns(self) -> list[str]:
        """
        The patterns of the columns of `types`: those it was trained on.
        """
    @property
    def trace_from(self) -> float: ...
    @property
    def unknown_patterns(self) -> list[str]:
        """
        Those of them that this version does not have or defines differently.
        """
    @property
    def window_from(self) -> float: ...

def pattern_names() -> list[str]:
    """
    The patterns of this version: those of the labels `types` of an example.
    """

def relabel(from_file: str, to_file: str) -> None:
    """
    Copy weights, naming their columns, kinds and patterns as this version does.
    """

def rules_input(windows: numpy.ndarray) -> numpy.ndarray:
    """
    The rules' verdict on CPU and GPU, as a logit.
    """

def rules_logit(
    share: typing.Annotated[numpy.typing.ArrayLike, numpy.float64],
) -> typing.Any:
    """
    Shares that rules claim, as rules_input() returns them.
    """

def strangeness(
    known: collections.abc.Mapping[str, typing.Any], windows: numpy.ndarray
) -> numpy.ndarray:
    """
    The distance of windows from known ones: see detector/stack.h.
    """

def trees_raw(
    trees: collections.abc.Mapping[str, numpy.ndarray],
    windows: numpy.ndarray,
    *,
    threads: typing.SupportsInt | typing.SupportsIndex = 1,
) -> numpy.ndarray:
    """
    The sum of the trees alone, for each window and output.
    """
