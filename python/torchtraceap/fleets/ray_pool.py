# SPDX-License-Identifier: BSD-3-Clause
"""ray_pool.py: the tasks of a fleet as tasks of Ray, here or on a cluster.

Each machine of the cluster must have this package, and see the files by the same paths
or URLs. Results come back to this process, which alone writes.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator, Sequence
from typing import Any

from torchtraceap.base.errors import ConfigError
from torchtraceap.fleets.items import Item
from torchtraceap.fleets.local_pool import ALL_CRASHED, CRASHED, HOPELESS, none_ran
from torchtraceap.fleets.tasks import Done, FleetPlan, failed_task, run_task

#: The address of a Ray that is started for this run, on this machine.
LOCAL = "local"
# Tasks that wait in Ray for each that can run: more keep its scheduler busy, fewer the
# machines that it adds.
_AHEAD = 4
_PATIENCE_S = 5.0
_WAIT_S = 5.0
_STORE = 256 << 20  # Bytes of a Ray that is started here: results are kilobytes.
_RETRIES = 3  # Of a task whose process ended: machines of a cluster come and go.


def run_ray(
    items: Sequence[Item],
    plan: FleetPlan,
    address: str,
    workers: int | None,
    memory: int | None,
) -> Iterator[Done | None]:
    """Yield the rows of each item, in the order in which they are done; None while
    nothing is.

    ``workers`` and ``memory`` are those of a Ray that is started here; a cluster has
    its own. Raises ConfigError if there is no such cluster, or no Ray installed, and
    after the rows of the first tasks if all of these crash.
    """
    if not items:
        return  # Ray takes seconds to start.
    ray, is_ours = _connected(address, workers, memory)
    running: dict[Any, Item] = {}
    try:
        (processors, most), measured = _size_of(ray), time.monotonic()
        hopeless = max(HOPELESS, 2 * processors)
        task = ray.remote(num_cpus=1, max_retries=_RETRIES)(run_task)
        shared = ray.put(plan)
        waiting = iter(items)
        lost: int | None = 0  # At the beginning; None once a task was done.
        while True:
            while (
                len(running) < _AHEAD * processors
                and (item := next(waiting, None)) is not None
            ):
                # More than any machine has would wait forever.
                own = task.options(memory=min(item.needed_bytes, most))
                running[own.remote(item, shared)] = item
            if not running:
                return
            ready, _ = ray.wait(list(running), num_returns=1, timeout=_WAIT_S)
            if not ready:
                yield None
            if time.monotonic() - measured >= _WAIT_S:  # Machines may have come.
                (processors, most), measured = _size_of(ray), time.monotonic()
            for reference in ready:
                done, why = _answer(ray, reference, running.pop(reference))
                yield done
                if lost is not None:
                    lost = lost + 1 if why else None
                if lost == hopeless:
                    raise none_ran(lost, why)
    finally:
        if is_ours:
            ray.shutdown()
        else:
            for reference in running:
                ray.cancel(reference)


def _connected(
    address: str, workers: int | None, memory: int | None
) -> tuple[Any, bool]:
    """Return Ray, and whether the connection is one of this run alone."""
    try:
        import ray
    except ImportError as error:
        raise ConfigError(
            "Ray is not installed. Install it with pip install 'torchtraceap[ray]', or "
            "leave --ray out: the traces are then analyzed by processes of this machine"
        ) from error
    if ray.is_initialized():
        return ray, False
    own: dict[str, Any] = {}
    if address == LOCAL:
        own = {
            "num_cpus": workers,
            "_memory": memory,
            "include_dashboard": False,
            # Ray would try a task that is killed for memory for ever.
            "_system_config": {"task_oom_retries": _RETRIES},
        }
        own["object_store_memory"] = _STORE
    try:
        _reach(address)
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", **own)
    except (ConnectionError, ValueError, RuntimeError, OSError) as error:
        why = (str(error) or type(error).__name__).splitlines()[0]
        raise ConfigError(
            f"cannot use Ray at {address}: {why}. Give the address of a running "
            f"cluster, such as auto or host:6379, or {LOCAL} to start Ray here."
        ) from error
    return ray, True


def _reach(address: str) -> None:
    """Raise OSError if nothing listens at host:port: Ray would try for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdigit():
        with socket.create_connection((host.strip("[]"), int(port)), _PATIENCE_S):
            pass


def _size_of(ray: Any) -> tuple[int, int]:
    """Return the processors of the cluster, and the most memory of a machine."""
    alive = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    most = max((node.get("memory", 0) for node in alive), default=0)
    return max(1, int(sum(node.get("CPU", 0) for node in alive))), int(most) or 1


def _answer(ray: Any, reference: object, item: Item) -> tuple[Done, str]:
    """Return the rows of a task; and why it did not run to its end, or ""."""
    try:
        return ray.get(reference), ""
    except (ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError):
        return failed_task(item, "crashed", CRASHED), ALL_CRASHED
    # A machine is gone, or has no such package: tasks raise nothing themselves.
    except ray.exceptions.RayError as error:
        why = (str(error).strip() or type(error).__name__).splitlines()[-1]
        text = f"Ray could not run its task: {why}"
        return failed_task(item, "internal", text), why
