# SPDX-License-Identifier: BSD-3-Clause
"""test_deploy.py: the image and the Kubernetes files name what there is.

No image is built here: docs/serve.md says what was.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from torchtraceap.cli.program import make_parser
from torchtraceap.service.app import make_app
from torchtraceap.service.settings import Settings

from ..conftest import ROOT

yaml = pytest.importorskip("yaml")
DEPLOY = ROOT / "docs/deploy"
_SIZES = {"Mi": 1 << 20, "Gi": 1 << 30}


def stages() -> dict[str, list[tuple[str, str]]]:
    """The instructions of each stage of the Containerfile."""
    text = (DEPLOY / "Containerfile").read_text()
    text = re.sub(r"^#.*\n", "", text, flags=re.M).replace("\\\n", " ")
    found: dict[str, list[tuple[str, str]]] = {}
    for line in filter(str.strip, text.splitlines()):
        word, rest = line.split(None, 1)
        if word == "FROM":
            name = rest.split(" AS ")[1]
            found[name] = []
        found[name].append((word, rest))
    return found


def manifests(name: str) -> dict[str, Any]:
    found = yaml.safe_load_all((DEPLOY / name).read_text())
    return {one["kind"]: one["spec"] for one in found}


def size(text: str) -> int:
    return int(text[:-2]) * _SIZES[text[-2:]]


def routes() -> set[str]:
    return {*make_app(Settings(), "").openapi()["paths"]}


def test_the_image() -> None:
    found = stages()
    assert list(found)[-1] == "server"  # What is built without --target.
    for word, rest in found["build"]:
        if word == "COPY":
            *copied, _ = shlex.split(rest)
            assert all((ROOT / name).exists() for name in copied), copied
    server = dict(found["server"])
    assert server["USER"] == dict(found["ray"])["USER"] == "65532:65532"
    command = json.loads(server["ENTRYPOINT"]) + json.loads(server["CMD"])
    options = make_parser().parse_args(command[1:])
    assert str(options.port) == server["EXPOSE"] and options.host == "0.0.0.0"
    path = re.search(rf"127\.0\.0\.1:{options.port}(/\w+)", server["HEALTHCHECK"])
    assert path and path[1] in routes()


def test_the_deployment() -> None:
    spec = manifests("kubernetes.yaml")["Deployment"]["template"]["spec"]
    (container,) = spec["containers"]
    options = make_parser().parse_args(container["args"])
    (port,) = container["ports"]
    assert port["containerPort"] == options.port
    for probe in ("livenessProbe", "readinessProbe"):
        asked = container[probe]["httpGet"]
        assert asked["path"] in routes() and asked["port"] == port["name"]
    mounts = {one["mountPath"]: one for one in container["volumeMounts"]}
    volumes = {one["name"]: one for one in spec["volumes"]}
    assert {one["name"] for one in mounts.values()} == {*volumes}
    assert Path(options.token_file).parent.as_posix() in mounts
    assert all(mounts[root]["readOnly"] for root in options.root)
    assert container["securityContext"]["readOnlyRootFilesystem"]
    # What limits allow together has room.
    uploads = (options.workers + options.queue) * options.max_upload_bytes
    room = volumes[mounts["/tmp"]["name"]]["emptyDir"]["sizeLimit"]
    assert size(room) >= uploads
    limits = container["resources"]["limits"]
    assert size(limits["ephemeral-storage"]) >= size(room)
    assert size(limits["memory"]) >= options.workers * 3 * options.max_text_bytes
    wait = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert options.end_seconds > options.max_seconds
    assert spec["terminationGracePeriodSeconds"] > wait + options.end_seconds
    service = manifests("kubernetes.yaml")["Service"]
    assert service["ports"][0]["targetPort"] == port["name"]


def test_the_job_of_a_cluster() -> None:
    spec = manifests("kuberay.yaml")["RayJob"]
    program, *arguments = shlex.split(spec["entrypoint"])
    options = make_parser().parse_args(arguments)
    assert (program, options.ray) == ("torchtraceap", "auto")
    cluster = spec["rayClusterSpec"]
    for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"]):
        (container,) = group["template"]["spec"]["containers"]
        mounts = {one["mountPath"] for one in container["volumeMounts"]}
        assert mounts == {*options.sources, options.out}
        assert {"name": "RAY_task_oom_retries", "value": "3"} in container["env"]
        # They count if a cluster scales, for which its pods need an account.
        assert not group.keys() & {"minReplicas", "maxReplicas"}
