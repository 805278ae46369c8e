# SPDX-License-Identifier: BSD-3-Clause
"""test_facade_undone.py: after a dry run torch is as before it, however that ended."""

from __future__ import annotations

import gc
import sys
import threading
import types
from typing import Any

import pytest
import torch
from torch import Generator  # bound before any run

from torchtraceap.base.errors import DryRunError
from torchtraceap_dryrun.dry_run import dry_run
from torchtraceap_dryrun.facade.facade import Facade
from torchtraceap_dryrun.facade.replacing import Replacements

from .told import Told

_WATCHED = (
    "torch",
    "torch.__future__",
    "torch._C",
    "torch.accelerator",
    "torch.backends",
    "torch.distributed",
    "torch.version",
    "torch.random",
    "torch.amp",
)


def _state() -> dict[str, Any]:
    """All attributes of torch that a dry run might leave changed."""
    state: dict[str, Any] = {"here": Generator}
    for name, module in list(sys.modules.items()):
        if name not in _WATCHED and not name.startswith(
            ("torch.cuda", "torch.backends")
        ):
            continue
        places = {name: module}
        if isinstance(getattr(module, "m", None), types.ModuleType):
            places[f"{name}.m"] = module.m
        for key, value in vars(module).items():
            if issubclass(type(value), type) and value.__module__.startswith(
                "torch.cuda"
            ):
                places[f"{name}.{key}"] = value
        for place, owner in places.items():
            state |= {f"{place}.{key}": at for key, at in vars(owner).items()}
    return state


def changed(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    missing = object()
    keys = before.keys() | after.keys()
    return sorted(
        k for k in keys if before.get(k, missing) is not after.get(k, missing)
    )


def _load() -> None:
    """Import what is imported on first use, which would look like a change."""
    with Facade(Told()):
        torch.cuda.memory_summary()
    gc.collect()


def test_everything_is_put_back() -> None:
    _load()
    before = _state()
    with Facade(Told()):
        during = changed(before, _state())
        torch.cuda.manual_seed(1)
        assert torch.get_device_module() is torch.cuda  # which remembers
        torch.cuda.Stream().synchronize()
    assert "torch._C._cuda_synchronize" in during and "here" in during
    assert "torch.cuda.Stream.__new__" in during and len(during) > 80
    assert changed(before, _state()) == []
    assert not torch.cuda.is_available() and not torch.cuda.is_initialized()
    assert torch.get_device_module() is torch.cpu
    # As the class has them, not as one gets them from it.
    assert isinstance(vars(torch.cuda.Stream)["__new__"], staticmethod)
    assert isinstance(vars(torch.cuda.Event)["from_ipc_handle"], classmethod)
    with pytest.raises((AssertionError, RuntimeError)):
        torch.cuda.current_device()
    with pytest.raises(RuntimeError):
        torch.cuda.Stream()


def test_interrupted_entry_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _load()
    before = _state()

    def interrupt(_: Facade) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Facade, "_check", interrupt)
        with pytest.raises(KeyboardInterrupt), Facade(Told()):
            pass
    assert changed(before, _state()) == []
    with Facade(Told()):  # and the next can begin
        assert torch.cuda.is_available()


def test_interrupted_exit_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _load()
    before = _state()
    undo, calls = Replacements.undo, []

    def interrupted(self: Replacements) -> None:
        calls.append(self)
        if len(calls) == 1:
            first, self._former = self._former[:50], self._former[50:]
            undo(self)
            self._former = first
            raise KeyboardInterrupt  # half-way
        undo(self)

    monkeypatch.setattr(Replacements, "undo", interrupted)
    with pytest.raises(KeyboardInterrupt), Facade(Told()):
        pass
    assert len(calls) == 2 and changed(before, _state()) == []


def test_runs_are_not_nested() -> None:
    with dry_run() as run:
        with (
            pytest.raises(DryRunError, match=r"already, begun at .*_undone\.py:\d+"),
            dry_run(),
        ):
            pass
        assert torch.cuda.is_available()
    assert not torch.cuda.is_available()
    with pytest.raises(DryRunError, match="once"), run:
        pass


def test_another_thread_has_to_wait() -> None:
    errors: list[BaseException] = []

    def second() -> None:
        try:
            with dry_run():
                pass
        except DryRunError as error:
            errors.append(error)

    with dry_run():
        thread = threading.Thread(target=second)
        thread.start()
        thread.join()
        assert torch.cuda.is_available()
    assert "in another thread" in str(errors[0])
    second()
    assert len(errors) == 1


def test_an_error_leaves_nothing_behind() -> None:
    with dry_run():  # what is imported on first use
        torch.nn.Linear(2, 2, device="cuda")
    before = _state()
    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error), dry_run():
            layer = torch.nn.Linear(2, 2).cuda()
            layer(torch.ones(2, device="cuda")).sum().backward()
            raise error
        assert changed(before, _state()) == []
        assert torch.ones(2).sum().item() == 2 and str(torch.ones(2).device) == "cpu"


def _with_default(kind: Any = torch.Generator) -> Any:
    return kind


def test_what_cannot_be_replaced_says_so(told: Told) -> None:
    # A class in C that is held elsewhere than in a module is not found.
    with pytest.raises(RuntimeError, match="CUDA"):
        _with_default()("cuda")


def test_names_of_other_modules_are_found() -> None:
    module = types.ModuleType("imported_before")
    module.Generator = module.Made = torch.Generator  # type: ignore[attr-defined]
    sys.modules["imported_before"] = module
    try:
        with Facade(Told()):
            assert str(module.Made("cuda").device) == "cuda:0"
            module.Made = "the program's own now"
            late = types.ModuleType("imported_meanwhile")
            late.Generator = torch.Generator  # type: ignore[attr-defined]
        assert module.Generator is torch.Generator
        # What a module that was loaded meanwhile holds does as torch's own class.
        made = late.Generator()
        assert type(made) is torch.Generator and str(made.device) == "cpu"
        with pytest.raises(RuntimeError, match="CUDA"):
            late.Generator("cuda")
    finally:
        del sys.modules["imported_before"]
