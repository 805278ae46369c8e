# SPDX-License-Identifier: BSD-3-Clause
"""test_serve_fuzzed.py: whatever is asked, the answer is as OpenAPI says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import torchtraceap

from ..fleets.conftest import starved
from ..ranks.rank_folder import put

schemathesis = pytest.importorskip("schemathesis")
pytest.importorskip("duckdb")
import hypothesis  # noqa: E402
from schemathesis import checks  # noqa: E402
from starlette.testclient import TestClient  # noqa: E402

from torchtraceap.service.app import make_app  # noqa: E402
from torchtraceap.service.settings import Settings  # noqa: E402

_EXAMPLES = 40  # Of each route and kind of request.
_TOKEN = "a-token-of-24-characters"
#: No route has a link to another one, nor a resource that a client makes.
_CHECKS = (
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
    checks.unsupported_method,
    checks.ignored_auth,
)


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("fuzzed")
    put(folder / "runs/trace.json.gz", starved())
    torchtraceap.fleet(folder / "runs", folder / "fleet")
    settings = Settings(
        roots=(str(folder / "runs"),), fleet=str(folder / "fleet"), token=_TOKEN
    )
    app = make_app(settings, str(tmp_path_factory.mktemp("uploads")))
    with TestClient(app):  # Ends the children afterwards.
        yield schemathesis.openapi.from_asgi("/openapi.json", app)


@pytest.mark.verify
def test_every_route(api: Any) -> None:
    headers = {"Authorization": f"Bearer {_TOKEN}"}
    fuzzed = set()
    for found in api.get_all_operations():
        operation = found.ok()
        wrong = operation.as_strategy(
            generation_mode=schemathesis.GenerationMode.NEGATIVE
        )

        @hypothesis.settings(max_examples=_EXAMPLES, deadline=None, derandomize=True)
        @hypothesis.given(case=operation.as_strategy() | wrong)
        def ask(case: Any) -> None:
            case.call_and_validate(headers=headers, checks=[*_CHECKS])

        ask()
        fuzzed.add(operation.label)
    assert len(fuzzed) == 10, fuzzed
