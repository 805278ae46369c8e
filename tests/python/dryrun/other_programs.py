# SPDX-License-Identifier: BSD-3-Clause
"""other_programs.py: graphs, sentences and gradients by sample, for any device.

Each takes a device and returns what it worked out. Its random numbers are the host's,
so every device gets the same. Lines at which the host waits for a GPU end in `# waits`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call, grad, jacrev, vmap
from torch.utils.data import DataLoader, Dataset


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


OTHER_PROGRAMS: tuple[Callable[[str], Any], ...] = (
    graph_network,
    generation,
    gradients_by_sample,
    sentences,
)
