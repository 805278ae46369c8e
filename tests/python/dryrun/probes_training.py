# SPDX-License-Identifier: BSD-3-Clause
"""probes_training.py: backward passes, optimizers, scaling of gradients."""

from __future__ import annotations

from .probe import Probe

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


PROBES = (
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
