# SPDX-License-Identifier: BSD-3-Clause
"""input_changes.py: loaders, copies and tensors of the user's code, made quicker.

Each change is right as it stands, or not made: its notes say what it may alter in a
program's results. Where the code is of no form that is known, the answer is None.
"""

from __future__ import annotations

import ast

from torchtraceap.explain.fixes.rewrite import (
    Rewrite,
    keyword_of,
    replaced,
    with_keywords,
)
from torchtraceap.explain.fixes.user_code import (
    FUNCTIONS,
    LOADERS,
    LOOPS,
    Site,
    UserCode,
    constant,
    root,
)

_WORKERS = 4
_RANDOM = {"rand", "randn", "randint", "rand_like", "randn_like", "randint_like"}
_FILLED = {
    *("zeros", "ones", "full", "empty", "arange", "linspace", "eye"),
    *("zeros_like", "ones_like", "full_like", "empty_like"),
}


def add_workers(site: Site) -> Rewrite | None:
    """Let a loader that loads in the main process do so in several others."""
    code = site.code
    call = _loader(site)
    if call is None or len(call.args) > 5:  # num_workers by its position.
        return None
    given = keyword_of(call, "num_workers")
    number = constant(given)
    if site.finding.subtype == "worker_start":
        if not number or _changes_later(
            code, call
        ):  # Not known, and without workers it is an error.
            return None
        return Rewrite(with_keywords(code, call, {"persistent_workers": "True"}))
    if site.finding.subtype == "multi_process":
        return None  # How many are right is the user's to say.
    if given is not None and number != 0:
        return None  # It is another loader that loads in the main process.
    if not _can_have_workers(code, call) or _changes_later(code, call):
        return None
    wanted = {"num_workers": str(_WORKERS), "pin_memory": "True"}
    wanted["persistent_workers"] = "True"
    notes = [
        "Each worker draws random numbers of its own, so random augmentations differ. "
        "Workers get the dataset pickled: it must hold no open file and no CUDA tensor."
    ]
    splices = with_keywords(code, call, wanted)
    if splices and given is not None:
        splices.append(replaced(given, str(_WORKERS)))
    return Rewrite(splices, notes)


def pin_batches(site: Site) -> Rewrite | None:
    """Copy a loader's batches from pinned memory, without waiting."""
    if site.finding.pattern == "sync_stall" and site.finding.subtype != "blocking_copy":
        return None
    code = site.code
    moves = [call for call in site.calls if _device_of(code, call)]
    for loop in code.loops(moves[0]) if moves else ():
        if isinstance(loop, ast.While):
            continue
        targets = {x.id for x in ast.walk(loop.target) if isinstance(x, ast.Name)}
        loader = _as_loader(code, code.made_by(code.iterated(loop.iter)))
        moved = {root(move.func) for move in moves}
        if loader is None or len(loader.args) > 7:  # pin_memory by its position.
            continue
        if not moved <= targets or _is_written(code, loop, moves):
            continue
        splices = [
            splice
            for move in moves
            if keyword_of(move, "non_blocking") is None
            for splice in with_keywords(code, move, {"non_blocking": "True"})
        ]
        if constant(keyword_of(loader, "pin_memory")) is not True:
            pins = with_keywords(code, loader, {"pin_memory": "True"})
            if not pins:  # Without them the copies wait all the same.
                return None
            splices += pins
        return Rewrite(splices)
    return None


def make_on_device(site: Site) -> Rewrite | None:
    """Let the device fill a tensor that is filled on the host and copied."""
    code = site.code
    if site.finding.pattern == "sync_stall" and site.finding.subtype != "blocking_copy":
        return None
    splices, notes = [], []
    for move in site.calls:
        device = _device_of(code, move)
        made = move.func.value if isinstance(move.func, ast.Attribute) else None
        if not device or not isinstance(made, ast.Call):
            continue
        module, _, function = code.name(made.func).rpartition(".")
        if module != "torch" or function not in _FILLED | _RANDOM:
            continue
        if {"device", "out", "requires_grad", "generator", "pin_memory"} & {
            str(keyword.arg) for keyword in made.keywords
        }:
            continue
        added = with_keywords(code, made, {"device": device})
        end = replaced(move, "").end
        after_made = replaced(made, "").end
        if added:
            splices += [*added, added[0]._replace(begin=after_made, end=end, text="")]
        if function in _RANDOM:
            notes = ["The random numbers are others: of the device's generator."]
        elif function in ("arange", "linspace"):
            notes = ["The device may round other than whole numbers differently."]
    return Rewrite(splices, notes) if splices else None


def is_to_device(site: Site) -> bool:
    """Tell whether a line copies to a device."""
    return bool(site.line) and any(_device_of(site.code, x) for x in site.calls)


def may_copy_batches(site: Site) -> bool:
    """Tell whether a line copies to a device what a loop goes over or a caller gives,
    and does not only set up a model there."""
    code = site.code
    names = {
        x.arg if isinstance(x, ast.arg) else x.id
        for x in ast.walk(site.where)
        if isinstance(x, ast.arg)
        or (isinstance(x, ast.Name) and code.loops(x) and isinstance(x.ctx, ast.Store))
    }
    return any(
        _device_of(code, x)
        and root(x.func) in names
        # Only a module is moved where it is.
        and not isinstance(code.statement(x), ast.Expr)
        for x in site.calls
    )


def _as_loader(code: UserCode, node: ast.expr | None) -> ast.Call | None:
    """Return what makes a loader, of an expression that does; else None."""
    is_one = isinstance(node, ast.Call) and code.name(node.func) in LOADERS
    return node if isinstance(node, ast.Call) and is_one else None


def _loader(site: Site) -> ast.Call | None:
    """Return the loader that is made for the loop on a line."""
    code = site.code
    for node in ast.walk(site.where):
        if isinstance(node, ast.For | ast.AsyncFor) and node.iter.lineno == site.line:
            over = code.iterated(node.iter)
            made = _as_loader(code, over) or _as_loader(code, code.made_by(over))
            if made:
                return made
    return None


def _is_written(code: UserCode, loop: ast.stmt, moves: list[ast.Call]) -> bool:
    """Tell whether a loop writes into what it copies, which may not have gone yet."""
    moved = {root(move.func) for move in moves}
    own = {code.statement(move) for move in moves}
    written: list[ast.expr] = []
    for x in ast.walk(loop):
        if isinstance(x, ast.AugAssign):
            written.append(x.target)
        elif isinstance(x, ast.Subscript) and isinstance(x.ctx, ast.Store):
            written.append(x)
        elif isinstance(x, ast.Call) and isinstance(x.func, ast.Attribute):
            written += [x.func] if x.func.attr.endswith("_") else []
            written += [k.value for k in x.keywords if k.arg == "out"]
    return any(root(x) in moved and code.statement(x) not in own for x in written)


def _device_of(code: UserCode, call: ast.Call) -> str:
    """Return the device that a call of .to() or .cuda() moves to, as code; "" if it is
    no such call, or may do more than that."""
    if not isinstance(call.func, ast.Attribute) or len(call.args) > 1:
        return ""
    if any(k.arg not in ("device", "non_blocking") for k in call.keywords):
        return ""
    device = call.args[0] if call.args else keyword_of(call, "device")
    if call.func.attr == "cuda":
        if device is None or constant(device) is not None:
            return code.text(device) if device else '"cuda"'
        return ""  # A variable may be None, which is another device elsewhere.
    if call.func.attr != "to" or device is None:
        return ""
    if isinstance(device, ast.Call):
        return code.text(device) if code.name(device.func) == "torch.device" else ""
    if isinstance(device, ast.Constant):
        is_one = isinstance(device.value, str) and device.value.startswith("cuda")
        return code.text(device) if is_one else ""
    # A name may also be a type or another tensor.
    last = code.name(device).rpartition(".")[2].lower()
    return code.text(device) if last.endswith(("device", "dev", "gpu")) else ""


def _can_have_workers(code: UserCode, loader: ast.Call) -> bool:
    """Tell whether other processes can load what a loader does.

    Where they are not forked (Windows, macOS, Linux from Python 3.14) they import the
    file, and get all that the loader holds pickled. A dataset that is iterated would
    come from each of them whole.
    """
    if any(isinstance(x, ast.Lambda) for x in ast.walk(code.tree)):
        return False
    inner = {
        x.name
        for x in ast.walk(code.tree)
        if isinstance(x, (*FUNCTIONS, ast.ClassDef)) and _lies_in_function(code, x)
    }
    dataset = _dataset(loader)
    made = code.made_by(dataset) if dataset else None
    held = [x for part in (loader, made) if part for x in ast.walk(part)]
    if inner & {x.id for x in held if isinstance(x, ast.Name)}:
        return False
    if not _has_length(code, loader, made or dataset):
        return False
    return not any(_runs_on_import(code, x, loader) for x in code.tree.body)


def _dataset(loader: ast.Call) -> ast.expr | None:
    return loader.args[0] if loader.args else keyword_of(loader, "dataset")


def _lies_in_function(code: UserCode, node: ast.AST) -> bool:
    function = code.function(node)
    in_class = isinstance(next(code.above(node), None), ast.ClassDef)
    return function is not code.tree and not in_class


def _has_length(code: UserCode, loader: ast.Call, made: ast.expr | None) -> bool:
    """Tell whether a dataset is one of indices, and not one that is iterated."""
    if constant(keyword_of(loader, "shuffle")) is True:
        return True  # An iterated one cannot be shuffled.
    if keyword_of(loader, "sampler") or keyword_of(loader, "batch_sampler"):
        return True
    name = code.name(made.func) if isinstance(made, ast.Call) else ""
    return name == "torch.utils.data.TensorDataset" or any(
        isinstance(x, ast.ClassDef)
        and x.name == name
        and any(isinstance(y, FUNCTIONS) and y.name == "__getitem__" for y in x.body)
        for x in code.tree.body
    )


def _runs_on_import(code: UserCode, statement: ast.stmt, loader: ast.Call) -> bool:
    """Tell whether a statement of the module runs the program, with no ``if __name__ ==
    "__main__"`` to keep it from that: a loop, a call for its effect, or one of the
    file's functions."""
    if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
        return False
    if isinstance(statement, ast.If) and "__name__" in code.text(statement.test):
        return False
    own = {x.name for x in code.tree.body if isinstance(x, FUNCTIONS)}
    for x in ast.walk(statement):
        if isinstance(x, LOOPS):
            return True
        if isinstance(x, ast.Call) and x is not loader:
            for_effect = isinstance(code.statement(x), ast.Expr)
            # What an import brings, such as torch.manual_seed, may run again.
            if for_effect and not code.imported(root(x.func)):
                return True
            if root(x.func) in own or any(code.made_by(a) is loader for a in x.args):
                return True
    return False


def _changes_later(code: UserCode, loader: ast.Call) -> bool:
    """Tell whether the program sets something of a loader's dataset, of which workers
    that stay keep a copy."""
    dataset = _dataset(loader)
    name = code.name(dataset) if dataset else ""
    wholes = [
        code.name(x.value)
        for x in ast.walk(code.tree)
        if isinstance(x, ast.Attribute)
        and (isinstance(x.ctx, ast.Store) or x.attr.startswith(("set_", "shuffle")))
    ]
    getters = [
        x
        for x in ast.walk(code.tree)
        if isinstance(x, FUNCTIONS) and x.name == "__getitem__"
    ]
    if any(
        isinstance(x, ast.Attribute) and isinstance(x.ctx, ast.Store)
        for getter in getters
        for x in ast.walk(getter)
    ):
        return True
    return any(
        whole and (whole == name or whole.endswith(".dataset")) for whole in wholes
    )
