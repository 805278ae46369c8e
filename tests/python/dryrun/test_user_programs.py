# SPDX-License-Identifier: BSD-3-Clause
"""Programs of many kinds run dry as on the CPU, and wait at the marked lines.

Each takes a device and returns what it worked out. Its random numbers are the host's,
so every device gets the same. Lines at which the host waits for a GPU end in `# waits`.
"""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call, grad, jacrev, vmap
from torch.utils._pytree import tree_leaves
from torch.utils.data import DataLoader, Dataset

import torchtraceap

from .shared_run import Seen

# What torch.func itself warns of, with or without a dry run.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script")

# --- Training -------------------------------------------------------------------------


def diffusion_step(device: str) -> Any:
    """A U-Net with skip connections predicts the noise, channels last."""

    class Block(nn.Module):
        def __init__(self, inputs: int, outputs: int) -> None:
            super().__init__()
            self.conv = nn.Conv2d(inputs, outputs, 3, padding=1)
            self.norm = nn.GroupNorm(2, outputs)
            self.time = nn.Linear(8, outputs)

        def forward(self, x: Tensor, time: Tensor) -> Tensor:
            return F.silu(self.norm(self.conv(x)) + self.time(time)[:, :, None, None])

    class UNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.down1, self.down2 = Block(3, 8), Block(8, 16)
            self.middle = Block(16, 16)
            self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
            self.up1 = Block(16, 8)
            self.out = nn.Conv2d(8, 3, 1)

        def forward(self, x: Tensor, steps: Tensor) -> Tensor:
            rate = torch.exp(torch.arange(4, device=x.device) * (-math.log(1e4) / 4))
            angle = steps[:, None] * rate
            time = torch.cat([angle.sin(), angle.cos()], dim=1)
            one = self.down1(x, time)
            two = self.down2(F.avg_pool2d(one, 2), time)
            low = self.middle(two, time)
            return self.out(self.up1(torch.cat([self.up(low), one], 1), time))

    net = UNet().to(device, memory_format=torch.channels_last)  # waits
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    kept = torch.linspace(0.99, 0.01, 100, device=device)
    losses = []
    for _ in range(2):
        images = torch.randn(2, 3, 8, 8).to(device)  # waits
        images = images.contiguous(memory_format=torch.channels_last)
        noise = torch.randn(2, 3, 8, 8).to(device)  # waits
        steps = torch.randint(0, 100, (2,)).to(device)  # waits
        share = kept[steps][:, None, None, None]
        noisy = share.sqrt() * images + (1 - share).sqrt() * noise
        loss = F.mse_loss(net(noisy, steps), noise)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses).tolist(), net.out.weight  # waits


def gradient_penalty(device: str) -> Any:
    """A gradient of a gradient, and clipping."""
    critic = nn.Sequential(nn.Linear(6, 8), nn.Softplus(), nn.Linear(8, 1))
    critic.to(device)  # waits
    x = torch.randn(4, 6).to(device).requires_grad_()  # waits
    (slope,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    penalty = ((slope.norm(dim=1) - 1) ** 2).mean()
    penalty.backward()
    norm = nn.utils.clip_grad_norm_(critic.parameters(), 0.1)
    return penalty, norm, critic[0].weight.grad


def averaged_and_accumulated(device: str) -> Any:
    """Gradients of several small batches, a schedule, a mean of weights over time."""
    net = nn.Sequential(nn.Linear(6, 6), nn.BatchNorm1d(6), nn.Linear(6, 2))
    net.to(device)  # waits
    mean = copy.deepcopy(net).requires_grad_(False)
    swa = torch.optim.swa_utils.AveragedModel(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.2, total_steps=4)
    seen = torch.zeros((), device=device)
    for number in range(4):
        x, y = torch.randn(4, 6), torch.randint(0, 2, (4,))
        x, y = x.to(device), y.to(device)  # waits
        loss = F.cross_entropy(net(x), y, label_smoothing=0.1)
        (loss / 2).backward()
        seen += loss.detach()
        if number % 2:
            nn.utils.clip_grad_value_(net.parameters(), 0.5)
            optimizer.step()
            optimizer.zero_grad()
            with torch.no_grad():
                for slow, fast in zip(mean.parameters(), net.parameters(), strict=True):
                    slow.lerp_(fast, 0.1)
                for slow, fast in zip(mean.buffers(), net.buffers(), strict=True):
                    slow.copy_(fast)
            swa.update_parameters(net)  # waits
            schedule.step()
    total = seen.item()  # waits
    return total, mean.state_dict(), swa.module[0].weight, schedule.get_last_lr()


def mixed_precision(device: str) -> Any:
    """autocast and GradScaler, with clipping between the two."""
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    net.to(device)  # waits
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler(device, init_scale=64.0)
    losses = []
    for _ in range(2):
        x, y = torch.randn(6, 8), torch.randint(0, 4, (6,))
        x, y = x.to(device), y.to(device)  # waits
        with torch.autocast(device, dtype=torch.bfloat16):
            out = net(x)
            assert out.dtype == torch.bfloat16
        loss = F.cross_entropy(out.float(), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)  # waits
        scaler.update()
        optimizer.zero_grad()
        losses.append(loss.detach())
    return torch.stack(losses), scaler.get_scale()  # waits


def own_operator(device: str) -> Any:
    """An operator with its own backward, hooks, anomalies looked for by hand."""

    class Rounded(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor, step: float) -> Tensor:
            ctx.save_for_backward(x)
            return torch.round(x / step) * step

        @staticmethod
        def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
            (x,) = ctx.saved_tensors
            return grads[0] * (x.abs() < 1), None

    norms: list[Tensor] = []
    weights = torch.randn(5, 5).to(device).requires_grad_()  # waits
    weights.register_hook(lambda grad: norms.append(grad.norm()))
    x = torch.randn(3, 5, device="cpu").to(device)  # waits
    loss = (x @ Rounded.apply(weights, 0.25)).logsumexp(1).sum()
    loss.backward()
    if not torch.isfinite(loss):  # waits
        raise ValueError("the loss is not a number")
    return loss, norms[0], weights.grad


# --- Graphs, sentences, gradients by sample -------------------------------------------


def graph_network(device: str) -> Any:
    """Messages along edges, summed by index_add and by scatter; pooled by graph."""
    nodes, edges = 10, 24
    features = torch.randn(nodes, 5)
    source, target = torch.randint(0, nodes, (2, edges))
    graph = torch.arange(nodes) // 4
    many = int(graph.max()) + 1  # on the host
    features, graph = features.to(device), graph.to(device)  # waits
    source, target = source.to(device), target.to(device)  # waits
    first, second = nn.Linear(10, 8).to(device), nn.Linear(8, 3).to(device)  # waits
    message = F.relu(first(torch.cat([features[source], features[target]], dim=1)))
    summed = torch.zeros(nodes, 8, device=device).index_add(0, target, message)
    degree = torch.zeros(nodes, device=device)
    degree.scatter_add_(0, target, torch.ones_like(target, dtype=torch.float))
    most = torch.full((nodes, 8), -1.0, device=device).scatter_reduce(
        0, target[:, None].expand(-1, 8), message, "amax"
    )
    weight = torch.exp(message.mean(1))
    weight = (
        weight / torch.zeros(nodes, device=device).index_add(0, target, weight)[target]
    )
    out = second(summed / degree.clamp(min=1)[:, None] + most + weight.sum())
    pooled = torch.zeros(many, 3, device=device).index_add_(0, graph, out)
    loss = F.cross_entropy(pooled, torch.arange(many, device=device) % 3)
    loss.backward()
    isolated = torch.nonzero(degree == 0).squeeze(1)  # waits
    return loss, first.weight.grad, isolated, torch.bincount(graph)  # waits


def generation(device: str) -> Any:
    """Greedy decoding with a cache of keys and values, ended by a token."""
    width, heads, words, end = 16, 2, 20, 0

    class Decoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(words, width)
            self.qkv = nn.Linear(width, 3 * width)
            self.out = nn.Linear(width, width)
            self.norm = nn.LayerNorm(width)
            self.head = nn.Linear(width, words, bias=False)
            self.head.weight = self.words.weight

        def forward(
            self, ids: Tensor, past: tuple[Tensor, Tensor] | None
        ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
            x = self.words(ids)
            q, k, v = (
                part.unflatten(-1, (heads, -1)).transpose(1, 2)
                for part in self.qkv(self.norm(x)).chunk(3, dim=-1)
            )
            if past is not None:
                k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=past is None)
            x = x + self.out(mixed.transpose(1, 2).flatten(2))
            return self.head(x[:, -1]), (k, v)

    model = Decoder().to(device).eval()  # waits
    ids = torch.randint(1, words, (2, 4)).to(device)  # waits
    done = torch.zeros(2, dtype=torch.bool, device=device)
    past, new = None, ids
    with torch.inference_mode():
        for _ in range(5):
            logits, past = model(new, past)
            logits[:, -1] = -torch.inf
            new = torch.where(done, end, logits.argmax(-1))[:, None]
            ids = torch.cat([ids, new], dim=1)
            done |= new.squeeze(1) == end
            if done.all():  # waits
                break
    return ids.tolist()  # waits


def gradients_by_sample(device: str) -> Any:
    """torch.func: a gradient for each sample, a Jacobian, a Hessian-vector product."""
    net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2)).to(device)  # waits
    weights = {name: p.detach() for name, p in net.named_parameters()}
    x, y = torch.randn(5, 4).to(device), torch.randint(0, 2, (5,)).to(device)  # waits

    def loss(weights: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(functional_call(net, weights, (x[None],)), y[None])

    each = vmap(grad(loss), in_dims=(None, 0, 0))(weights, x, y)
    norms = torch.stack([g.flatten(1).norm(dim=1) for g in each.values()]).norm(dim=0)
    scale = (1.0 / norms).clamp(max=1.0)
    private = {n: torch.einsum("n,n...->...", scale, g) for n, g in each.items()}
    slopes = vmap(jacrev(net))(x)
    _, product = torch.func.jvp(
        lambda x: grad(lambda x: net(x).pow(2).sum())(x), (x[0],), (x[1],)
    )
    return norms, private, slopes, product


class _Sentences(Dataset[tuple[Tensor, int]]):
    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        return torch.arange(index % 4 + 1), index % 3


def _padded(batch: list[tuple[Tensor, int]]) -> dict[str, Tensor]:
    words = nn.utils.rnn.pad_sequence([words for words, _ in batch], batch_first=True)
    lengths = torch.tensor([len(words) for words, _ in batch])
    classes = torch.tensor([label for _, label in batch])
    return {"words": words, "lengths": lengths, "classes": classes}


def sentences(device: str) -> Any:
    """Sentences of any length: collated, pinned, averaged, judged each epoch."""
    loader = DataLoader(
        _Sentences(), batch_size=4, collate_fn=_padded, pin_memory=device == "cuda"
    )
    words = nn.Embedding(5, 6, padding_idx=0).to(device)  # waits
    head = nn.Linear(6, 3).to(device)  # waits
    optimizer = torch.optim.Adagrad([*words.parameters(), *head.parameters()], lr=0.1)
    right, losses = torch.zeros((), dtype=torch.long, device=device), []
    for batch in loader:
        batch = {k: v.to(device, non_blocking=True) for k, v in batch.items()}
        embedded = words(batch["words"])
        places = torch.arange(embedded.shape[1], device=device)
        inside = places[None] < batch["lengths"][:, None]
        mean = (embedded * inside[..., None]).sum(1) / batch["lengths"][:, None]
        out = head(mean)
        loss = F.cross_entropy(out, batch["classes"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        right += (out.argmax(1) == batch["classes"]).sum()
        losses.append(loss.item())  # waits
    return losses, right.item() / 10  # waits


def detection(device: str) -> Any:
    """Keep the best of overlapping boxes, one by one: a known bad practice."""

    def overlap(box: Tensor, boxes: Tensor) -> Tensor:
        low, high = torch.max(box[:2], boxes[:, :2]), torch.min(box[2:], boxes[:, 2:])
        shared = (high - low).clamp(min=0).prod(1)
        sizes = (boxes[:, 2:] - boxes[:, :2]).prod(1)
        return shared / (sizes + (box[2:] - box[:2]).prod() - shared)

    def suppress(boxes: Tensor, scores: Tensor) -> list[int]:
        kept: list[int] = []
        for index in scores.argsort(descending=True).tolist():  # waits
            others = boxes[torch.tensor(kept, dtype=torch.long, device=device)]  # waits
            if not kept or (overlap(boxes[index], others) < 0.3).all():  # waits
                kept.append(index)
        return kept

    corners = torch.rand(60, 2)
    boxes = torch.cat([corners, corners + 0.1 + 0.2 * torch.rand(60, 2)], 1)
    boxes, scores = boxes.to(device), torch.rand(60).to(device)  # waits
    classes = torch.randint(0, 3, (60,)).to(device)  # waits
    sure = scores > 0.4
    boxes, scores, classes = boxes[sure], scores[sure], classes[sure]  # waits
    found = []
    for label in classes.unique().tolist():  # waits
        mine = torch.nonzero(classes == label).flatten()  # waits
        kept = suppress(boxes[mine], scores[mine])
        found.append((label, [mine[index].item() for index in kept]))  # waits
    return found, scores.mean().item()  # waits


# --- What they do ---------------------------------------------------------------------

PROGRAMS: tuple[Callable[[str], Any], ...] = (
    diffusion_step,
    gradient_penalty,
    averaged_and_accumulated,
    mixed_precision,
    own_operator,
    graph_network,
    generation,
    gradients_by_sample,
    sentences,
    detection,
)


def _results(program: Callable[[str], Any], device: str) -> list[Any]:
    torch.manual_seed(0)
    found = tree_leaves(program(device))
    return [
        leaf.detach().cpu() if isinstance(leaf, torch.Tensor) else leaf
        for leaf in found
    ]


def _lines(function: Callable[..., Any], end: str = "") -> set[int]:
    lines, first = inspect.getsourcelines(function)
    return {n for n, line in enumerate(lines, first) if line.rstrip().endswith(end)}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_works_out_what_the_cpu_does_and_waits_at_the_marked_lines(
    program: Callable[[str], Any], seen_all: Seen
) -> None:
    with seen_all.run.suspended():
        expected = _results(program, "cpu")
    torch.testing.assert_close(_results(program, "cuda"), expected)
    places = {sync.line for sync in seen_all.syncs}
    assert {place and place.file for place in places} == {__file__}
    found = {place.line for place in places if place} - _lines(_results)
    assert found == _lines(program, "# waits")


@pytest.mark.parametrize("values", ["none", "small"])
def test_without_values_no_other_lines_wait(values: Any) -> None:
    with torchtraceap.dry_run(values=values) as run:
        detection("cuda")
    found = {sync.line.line for sync in run.syncs if sync.line}
    assert found and found <= _lines(detection, "# waits")
