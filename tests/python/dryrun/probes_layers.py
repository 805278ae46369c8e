# SPDX-License-Identifier: BSD-3-Clause
"""probes_layers.py: layers, losses, sequences."""

from __future__ import annotations

from .probe import Probe

_EMBEDDING = "e = nn.Embedding(4, 8, device='cuda'{}); "
_PACKED = "p = rnn.pack_padded_sequence(x3, torch.tensor({}), enforce_sorted={})"
_CTC = (
    "c = torch.zeros(4, 2, 6, device='cuda'); n = torch.ones(2, dtype=torch.int64); "
    "w = torch.ones_like(i).view(2, 2)"
)

PROBES = (
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
