# SPDX-License-Identifier: BSD-3-Clause
"""probes_copies.py: between host and device, and tensors made of Python data."""

from __future__ import annotations

from .probe import Probe

_BUFFER = "b = io.BytesIO()"

PROBES = (
    # --- To the host -----------------------------------------------------------------
    Probe("cpu", "x.cpu()", "d2h", "copy"),
    Probe("to-cpu", "x.to('cpu')", "d2h", "copy"),
    Probe("to-cpu-device", "x.to(torch.device('cpu'))", "d2h", "copy"),
    Probe("to-cpu-dtype", "x.to('cpu', torch.float64)", "d2h", "copy"),
    Probe("to-cpu-async", "x.to('cpu', non_blocking=True)", "", "pin_out"),
    Probe("cpu-numpy", "x.detach().cpu().numpy()", "d2h", "copy"),
    Probe("host-copy", "h.copy_(x)", "d2h", "copy"),
    Probe("host-copy-async", "h.copy_(x, non_blocking=True)", "d2h", "pageable"),
    Probe("pinned-copy", "hp.copy_(x)", "d2h", "copy"),
    Probe("pinned-copy-async", "hp.copy_(x, non_blocking=True)", "", "pinning"),
    Probe("host-put", "h[0] = x[1]", "d2h", "copy"),
    Probe("save", "torch.save(x, b)", "d2h", "storage", _BUFFER),
    Probe("save-state", "torch.save(net.state_dict(), b)", "2 d2h", "storage", _BUFFER),
    Probe("state", "net.state_dict()", "", "async"),
    Probe("pickle", "pickle.dumps(x)", "d2h", "storage"),
    Probe("module-cpu", "net.cpu()", "2 d2h", "module"),
    # --- To the device ---------------------------------------------------------------
    Probe("cuda", "h.cuda()", "h2d", "copy"),
    Probe("to-cuda", "h.to('cuda')", "h2d", "copy"),
    Probe("to-index", "h.to('cuda:0')", "h2d", "copy"),
    Probe("to-dtype", "h.to('cuda', torch.float16)", "h2d", "copy"),
    Probe("to-other", "h.to(x)", "h2d", "copy"),
    Probe("cuda-async", "h.cuda(non_blocking=True)", "", "copy"),
    Probe("pinned", "hp.to('cuda')", "h2d", "copy"),
    Probe("pinned-async", "hp.to('cuda', non_blocking=True)", "", "pinning"),
    Probe("pin-async", "h.pin_memory().cuda(non_blocking=True)", "", "pinning"),
    Probe("pin", "h.pin_memory(), hp.is_pinned()", "", "pinning"),
    Probe("copy-host", "x.copy_(h)", "h2d", "copy"),
    Probe("copy-pinned-async", "x.copy_(hp, non_blocking=True)", "", "pinning"),
    Probe("empty-copy", "torch.empty(0).cuda()", "", "data"),
    Probe("module-cuda", "nn.Linear(2, 2).cuda()", "2 h2d", "module"),
    Probe("module-device", "nn.Linear(2, 2, device='cuda')", "", "async"),
    Probe(
        "load-state",
        "net.load_state_dict(s)",
        "2 h2d",
        "copy",
        "s = nn.Linear(8, 8).state_dict()",
    ),
    Probe(
        "load",
        "torch.load(b, map_location='cuda')",
        "h2d",
        "storage",
        "b = io.BytesIO(); torch.save(h, b); b.seek(0)",
    ),
    Probe("from-numpy", "torch.from_numpy(np.ones(3)).cuda()", "h2d", "copy"),
    # --- On the device ---------------------------------------------------------------
    Probe("to-same", "x.to('cuda'), x.cuda()", "", "noop"),
    Probe("half", "x.half(), x.to(torch.bfloat16)", "", "async"),
    Probe("clone", "x.clone(), x.t().contiguous()", "", "async"),
    Probe("copy-device", "x.copy_(y)", "", "async"),
    Probe("cat", "torch.cat([x, y]), torch.stack([t, u])", "", "async"),
    Probe("deepcopy", "copy.deepcopy(x)", "", "deepcopy"),
    Probe("deepcopy-module", "copy.deepcopy(net)", "", "deepcopy"),
    Probe("load-own-state", "net.load_state_dict(net.state_dict())", "", "async"),
    Probe("module-same", "net.to('cuda')", "", "noop"),
    Probe("module-half", "net.half()", "", "async"),
    Probe("data-set", "net.weight.data = net.weight.data * 2", "", "async"),
    # --- Of Python data --------------------------------------------------------------
    Probe("tensor-list", "torch.tensor(ids, device='cuda')", "h2d", "data"),
    Probe("tensor-number", "torch.tensor(1.0, device='cuda')", "h2d", "full"),
    Probe("tensor-empty", "torch.tensor([], device='cuda')", "", "data"),
    Probe("tensor-cuda", "torch.tensor(ids).cuda()", "h2d", "copy"),
    Probe("tensor-of-items", "torch.tensor([t, u])", "2 scalar", "data"),
    Probe(
        "tensor-of-items-cuda",
        "torch.tensor([t, u], device='cuda')",
        "h2d, 2 scalar",
        "data",
    ),
    Probe("as-tensor", "torch.as_tensor(ids, device='cuda')", "h2d", "data"),
    Probe(
        "as-tensor-numpy", "torch.as_tensor(np.ones(3), device='cuda')", "h2d", "data"
    ),
    Probe("as-tensor-host", "torch.as_tensor(h, device='cuda')", "h2d", "copy"),
    Probe("as-tensor-same", "torch.as_tensor(x)", "", "noop"),
    Probe("asarray-list", "torch.asarray(ids, device='cuda')", "h2d", "data"),
    Probe("new-tensor", "x.new_tensor([1.0, 2.0])", "h2d", "data"),
    Probe("new-zeros", "x.new_zeros(3), x.new_full((2,), 1.0)", "", "async"),
    Probe("full", "torch.full((), 1.0, device='cuda')", "", "full"),
    Probe("zeros", "torch.zeros(3, device='cuda')", "", "async"),
    Probe(
        "ranges",
        "torch.arange(5, device='cuda'), torch.eye(3, device='cuda')",
        "",
        "async",
    ),
    Probe("like", "torch.empty_like(x), torch.ones_like(x)", "", "async"),
    Probe("to-after-zeros", "torch.zeros(3).to('cuda')", "h2d", "copy"),
    Probe("default-device", "with torch.device('cuda'): torch.zeros(3)", "", "async"),
    Probe(
        "default-device-tensor",
        "with torch.device('cuda'): torch.tensor([1.0])",
        "h2d",
        "data",
    ),
    # --- Both in one operator --------------------------------------------------------
    Probe("plus-number", "x * 2.5 + 1", "", "async"),
    Probe("plus-host-0d", "x * ht", "", "wrapped"),
    Probe("plus-host", "x + h", "", "mixed", raises="RuntimeError"),
    Probe("linear-host", "net(h)", "", "mixed", raises="RuntimeError"),
)
