# SPDX-License-Identifier: BSD-3-Clause
"""probes_steps.py: layers and losses, passes and optimizers, loaders and streams."""

from __future__ import annotations

from .probe import Probe

_EMBEDDING = "e = nn.Embedding(4, 8, device='cuda'{}); "
_PACKED = "p = rnn.pack_padded_sequence(x3, torch.tensor({}), enforce_sorted={})"
_CTC = (
    "c = torch.zeros(4, 2, 6, device='cuda'); n = torch.ones(2, dtype=torch.int64); "
    "w = torch.ones_like(i).view(2, 2)"
)

LAYERS = (
    # --- Layers ----------------------------------------------------------------------
    Probe("linear", "net(x).relu().softmax(1)", "", "async"),
    Probe("dropout", "F.dropout(x, 0.5)", "", "async"),
    Probe("layer-norm", "F.layer_norm(x, (8,)), F.normalize(x)", "", "async"),
    Probe("batch-norm", "b(x)", "", "async", "b = nn.BatchNorm1d(8, device='cuda')"),
    Probe("batch-norm-eval", "b.eval()(x)", "", "async",
          "b = nn.BatchNorm1d(8, device='cuda')"),
    Probe("batch-norm-average", "b(x)", "scalar", "batch_norm",
          "b = nn.BatchNorm1d(8, momentum=None, device='cuda')"),
    Probe("conv", "n(x3[None])", "", "async", "n = nn.Conv2d(4, 3, 1, device='cuda')"),
    Probe("pool", "F.max_pool1d(x3, 2), F.adaptive_avg_pool1d(x3, 2)", "", "async"),
    Probe("interpolate", "F.interpolate(x3, scale_factor=2.0)", "", "async"),
    Probe("grid-sample", "F.grid_sample(x3[None], g, align_corners=False)", "", "async",
          "g = torch.zeros(1, 2, 2, 2, device='cuda')"),
    Probe("embedding", "e(i)", "", "async", _EMBEDDING.format("")),
    Probe("embedding-norm", "e(i)", "", "renorm", _EMBEDDING.format(", max_norm=1.0")),
    Probe("embedding-backward", "e(i).sum().backward()", "", "embedding",
          _EMBEDDING.format("")),
    Probe("embedding-sparse", "e(i).sum().backward()", "", "embedding",
          _EMBEDDING.format(", sparse=True")),
    Probe("embedding-bag", "F.embedding_bag(i[None], y)", "", "async"),
    Probe("lstm", "n(x3)", "", "async", "n = nn.LSTM(6, 5, device='cuda')"),
    Probe("attention", "F.scaled_dot_product_attention(x3, x3, x3, is_causal=True)", "",
          "async"),
    Probe("multi-head", "n(x3, x3, x3)", "", "async",
          "n = nn.MultiheadAttention(6, 2, device='cuda')"),
    Probe("encoder-mask", "n(x3, mask=w)", "scalar", "causal",
          "n = nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, 8, "
          "device='cuda'), 1, enable_nested_tensor=False); w = torch.zeros(4, 4, "
          "device='cuda')"),
    Probe("encoder-padding", "n(x3, src_key_padding_mask=w)", "hidden", "padding",
          "n = nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, 8, "
          "batch_first=True, device='cuda'), 1).eval().requires_grad_(False); w = "
          "torch.zeros(x3.shape[:2], dtype=torch.bool, device='cuda')"),
    Probe("encoder-causal", "n(x3, mask=w, is_causal=True)", "", "causal",
          "n = nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, 8, "
          "device='cuda'), 1, enable_nested_tensor=False); w = torch.zeros(4, 4, "
          "device='cuda')"),
    # --- Losses ----------------------------------------------------------------------
    Probe("mse", "F.mse_loss(x, y), F.smooth_l1_loss(x, y), F.l1_loss(x, y)", "",
          "async"),
    Probe("bce", "F.binary_cross_entropy_with_logits(x, y)", "", "async"),
    Probe("kl", "F.kl_div(x, y, reduction='batchmean')", "", "async"),
    Probe("nll", "F.nll_loss(x, i, ignore_index=1)", "", "nll"),
    Probe("cross-entropy", "F.cross_entropy(x, i)", "", "nll"),
    Probe("cross-entropy-weight", "F.cross_entropy(x, i, weight=v)", "", "nll"),
    Probe("cross-entropy-smooth", "F.cross_entropy(x, i, label_smoothing=0.1)", "",
          "nll"),
    Probe("cross-entropy-both", "F.cross_entropy(x, i, v, label_smoothing=0.1)",
          "hidden", "smoothing"),
    Probe("multi-margin", "F.multi_margin_loss(x, i)", "", "async"),
    Probe("triplet", "F.triplet_margin_loss(x, y, x), F.cosine_similarity(x, y)", "",
          "async"),
    Probe("gaussian-nll", "F.gaussian_nll_loss(x, y, x)", "scalar", "gaussian"),
    Probe("ctc", "F.ctc_loss(c, w, n * 4, n)", "hidden+, h2d", "ctc", _CTC),
    Probe("ctc-device-lengths", "F.ctc_loss(c, w, k.expand(2) * 2, k.expand(2) // 2)",
          "hidden+, h2d, 2 d2h", "ctc_lengths", _CTC),
    Probe("adaptive-softmax", "n(x, i)", "shape+", "adaptive",
          "n = nn.AdaptiveLogSoftmaxWithLoss(8, 6, [2], device='cuda')"),
    # --- Sequences -------------------------------------------------------------------
    Probe("pad", "rnn.pad_sequence([v, v[:3]])", "", "async"),
    Probe("pack", "rnn.pack_padded_sequence(x3, torch.tensor([4, 2]))", "", "pack"),
    Probe("pack-list", "rnn.pack_padded_sequence(x3, [4, 2])", "", "pack"),
    Probe("pack-device-lengths", "rnn.pack_padded_sequence(x3, i[1:3])", "", "pack",
          raises="RuntimeError"),
    Probe("pack-unsorted",
          "rnn.pack_padded_sequence(x3, torch.tensor([2, 4]), enforce_sorted=False)",
          "h2d", "pack"),
    Probe("unpack", "rnn.pad_packed_sequence(p)", "", "pack",
          _PACKED.format([4, 2], True)),
    Probe("unpack-unsorted", "rnn.pad_packed_sequence(p)", "d2h", "unpack",
          _PACKED.format([2, 4], False)),
    Probe("lstm-packed", "n(p)", "", "async",
          _PACKED.format([4, 2], True) + "; n = nn.LSTM(6, 5, device='cuda')"),
)  # fmt: skip

_GRADS = "net(x).mean().backward()"
_OPTIMIZER = _GRADS + "; o = optim.{}(net.parameters(), {}); o.step()"
_LR = "torch.tensor(0.1, device='cuda')"
_SCALER = "s = torch.amp.GradScaler('cuda'); o = optim.AdamW(net.parameters(){})"
_SCALED = _SCALER + "; s.scale(net(x).mean()).backward()"
_STEPPED = _SCALED + "; s.step(o)"
_PLATEAU = "s = optim.lr_scheduler.ReduceLROnPlateau(opt)"
_AVERAGED = "a = optim.swa_utils.AveragedModel(net); a.update_parameters(net)"


def _step(name: str, optimizer: str, options: str, waits: str = "", by: str = "steps"):
    return Probe(name, "o.step()", waits, by, _OPTIMIZER.format(optimizer, options))


TRAINING = (
    # --- Backward passes -------------------------------------------------------------
    Probe("backward", "net(x).mean().backward()", "", "async"),
    Probe("autograd-grad", "torch.autograd.grad(net(x).sum(), net.weight)", "",
          "async"),
    Probe("retain", "net(x).sum().backward(retain_graph=True)", "", "async"),
    Probe("no-grad", "with torch.no_grad(): net(x)", "", "async"),
    Probe("inference-mode", "with torch.inference_mode(): net(x).sum().item()",
          "scalar", "item"),
    Probe("mask-backward", "net(x)[m].sum().backward()", "2 shape", "mask"),
    Probe("where-backward", "torch.where(m, net(x), 0.0).sum().backward()", "",
          "async"),
    Probe("anomaly", "with torch.autograd.detect_anomaly(): net(x).sum().backward()",
          "scalar+", "anomaly"),
    Probe("hook", "net.weight.register_hook(lambda g: g * 2)", "", "async"),
    Probe("hook-item",
          "q.register_hook(lambda g: g.sum().item() and g); (x * q).mean().backward()",
          "scalar", "item", "q = torch.ones(8, device='cuda', requires_grad=True)"),
    Probe("checkpoint", "checkpoint(net, x, use_reentrant=False).sum().backward()", "",
          "checkpoint"),
    Probe("autocast", "with torch.autocast('cuda', torch.float16): net(x)", "",
          "async"),
    # --- Optimizers ------------------------------------------------------------------
    _step("sgd", "SGD", "lr=0.1, momentum=0.9"),
    _step("adam", "Adam", "lr=0.1, amsgrad=True"),
    _step("adamw", "AdamW", "lr=0.1"),
    _step("adamw-single", "AdamW", "lr=0.1, foreach=False"),
    _step("adamw-fused", "AdamW", "lr=0.1, fused=True"),
    _step("adamw-capturable", "AdamW", "lr=0.1, capturable=True"),
    _step("adamw-lr-tensor", "AdamW", f"lr={_LR}", "scalar+", "lr"),
    _step("adamw-lr-capturable", "AdamW", f"lr={_LR}, capturable=True"),
    _step("nadam", "NAdam", "lr=0.1"),
    _step("radam", "RAdam", "lr=0.1"),
    _step("adagrad", "Adagrad", "lr=0.1"),
    _step("rmsprop", "RMSprop", "lr=0.1"),
    _step("adadelta", "Adadelta", "lr=0.1"),
    _step("asgd", "ASGD", "lr=0.1", "scalar+, h2d+", "asgd"),
    Probe("first-step", "opt.step()", "", "steps", _GRADS),
    Probe("first-step-adamw", "optim.AdamW(net.parameters()).step()", "", "steps",
          _GRADS),
    Probe("zero-grad", "opt.zero_grad(), opt.state_dict()", "", "async", _GRADS),
    Probe("lbfgs", "optim.LBFGS(net.parameters(), max_iter=2).step(c)", "scalar+",
          "lbfgs", "def c():\n    w = net(x).pow(2).mean(); w.backward(); return w"),
    Probe("step-lr", "s.step()", "", "async",
          "s = optim.lr_scheduler.StepLR(opt, 1); opt.step()"),
    Probe("plateau", "s.step(t)", "scalar", "plateau", _PLATEAU),
    Probe("plateau-float", "s.step(2.0)", "", "plateau", _PLATEAU),
    Probe("clip", "nn.utils.clip_grad_norm_(net.parameters(), 1.0)", "", "clip",
          _GRADS),
    Probe("clip-check",
          "nn.utils.clip_grad_norm_(net.parameters(), 1.0, error_if_nonfinite=True)",
          "scalar", "clip", _GRADS),
    Probe("clip-value", "nn.utils.clip_grad_value_(net.parameters(), 1.0)", "", "clip",
          _GRADS),
    Probe("clip-log", "float(nn.utils.clip_grad_norm_(net.parameters(), 1.0))",
          "scalar", "item", _GRADS),
    Probe("average-first", "a.update_parameters(net)", "", "averaged",
          "a = optim.swa_utils.AveragedModel(net)"),
    Probe("average", "a.update_parameters(net)", "h2d, scalar", "averaged", _AVERAGED),
    Probe("ema", "torch._foreach_lerp_([x], [y], 0.1)", "", "async"),
    # --- Scaling of gradients --------------------------------------------------------
    Probe("scaler-scale", "s.scale(net(x).mean()).backward()", "", "scaler",
          _SCALER.format("")),
    Probe("scaler-unscale", "s.unscale_(o)", "", "scaler", _SCALED.format("")),
    Probe("scaler-step", "s.step(o)", "scalar", "scaler", _SCALED.format("")),
    Probe("scaler-step-fused", "s.step(o)", "", "scaler",
          _SCALED.format(", fused=True")),
    Probe("scaler-update", "s.update()", "", "scaler", _STEPPED.format("")),
    Probe("scaler-get", "s.get_scale()", "scalar", "scale", _STEPPED.format("")),
)  # fmt: skip

_EVENTS = (
    "a, b = (torch.cuda.Event(enable_timing=True) for _ in range(2));"
    " a.record(); x.sum(); b.record()"
)
_STREAM = "s = torch.cuda.Stream()"
_LOADER = (
    "d = torch.utils.data.TensorDataset(h); "
    "l = iter(torch.utils.data.DataLoader(d, 2, pin_memory={}))"
)

STREAMS = (
    # --- Data ------------------------------------------------------------------------
    Probe("loader", "next(l)[0].to('cuda')", "h2d", "copy", _LOADER.format(False)),
    Probe("loader-pinned", "next(l)[0].to('cuda', non_blocking=True)", "", "pinning",
          _LOADER.format(True)),
    Probe("loader-pinned-waits", "next(l)[0].to('cuda')", "h2d", "copy",
          _LOADER.format(True)),
    # --- Streams and events ----------------------------------------------------------
    Probe("synchronize", "torch.cuda.synchronize()", "explicit", "stream"),
    Probe("accelerator", "torch.accelerator.synchronize()", "explicit", "stream"),
    Probe("stream-synchronize", "s.synchronize()", "explicit", "stream", _STREAM),
    Probe("current-synchronize", "torch.cuda.current_stream().synchronize()",
          "explicit", "stream"),
    Probe("event-synchronize", "b.synchronize()", "explicit", "stream", _EVENTS),
    Probe("event-query", "b.query(), torch.cuda.current_stream().query()", "", "query",
          _EVENTS),
    Probe("event-wait", "b.wait()", "", "stream", _EVENTS),
    Probe("stream-wait", "s.wait_stream(torch.cuda.current_stream())", "", "stream",
          _STREAM),
    Probe("stream-block", "with torch.cuda.stream(s): x.sum()", "", "stream", _STREAM),
    Probe("record-stream", "x.record_stream(s)", "", "stream", _STREAM),
    Probe("device-queries", "torch.cuda.is_available(), torch.cuda.device_count()", "",
          "async"),
    Probe("memory", "torch.cuda.memory_allocated()", "", "memory"),
)  # fmt: skip
