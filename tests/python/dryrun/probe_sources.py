# SPDX-License-Identifier: BSD-3-Clause
"""probe_sources.py: who says which calls wait for CUDA, by a short name for each.

Paths are those of pytorch/pytorch, for torch 2.13; a number with # is an issue or a
pull request there.
"""

from __future__ import annotations

_CUDA = "aten/src/ATen/native/cuda/"
_NATIVE = "aten/src/ATen/native/"

SOURCES = {
    # --- Documentation ---------------------------------------------------------------
    "async": "docs, CUDA semantics, Asynchronous execution: operators are only queued",
    "stream": "docs, torch.cuda: synchronize(), Stream, Event",
    "query": "docs, torch.cuda: Event.query() and Stream.query() only ask",
    "memory": "docs, CUDA semantics, Memory management: counters of the allocator",
    "pageable": "NVIDIA, CUDA Runtime API, API synchronization behavior: Memcpy",
    "pinning": "docs, CUDA semantics, Use pinned memory buffers",
    "rng": "docs, torch.cuda, Random number generator: its state is on the host",
    # --- Reading values --------------------------------------------------------------
    "item": _CUDA + "CUDAScalar.cu: _local_scalar_dense_cuda",
    "equal": _CUDA + "Equal.cpp: cuda_equal reads one bool back",
    "allclose": _NATIVE + "TensorCompare.cpp: allclose is isclose().all().item()",
    "index": "torch/csrc/utils/python_arg_parser.cpp: tensors as numbers: item()",
    "select": "#105641: a 0-dim tensor as index is read back",
    "repr": "torch/_tensor_str.py: reads values to format them",
    "format": "torch/_tensor.py: Tensor.__format__ calls item() if 0-dim",
    "contains": "torch/_tensor.py: Tensor.__contains__ is (x == value).any().item()",
    "tolist": "torch/csrc/utils/tensor_list.cpp: tensor_to_list copies to the host",
    "numpy": "docs, Tensor.numpy: the tensor must be on the CPU",
    "many": "docs, Tensor.item: only of tensors with one element",
    # --- Copies ----------------------------------------------------------------------
    "copy": _CUDA + "Copy.cu: copy_kernel_cuda waits unless non_blocking",
    "pin_out": _NATIVE + "TensorConversions.cpp: _to_copy, pin_out if non_blocking",
    "noop": _NATIVE + "TensorConversions.cpp: to_will_alias returns the same tensor",
    "data": "torch/csrc/utils/tensor_new.cpp: internal_new_from_data, then to(device)",
    "full": "#190217: torch.full instead of torch.tensor does not wait",
    "storage": "torch/serialization.py: storages are written from the host",
    "deepcopy": "torch/_tensor.py: Tensor.__deepcopy__ clones the storage",
    "module": "torch/nn/modules/module.py: Module._apply, once for each parameter",
    "mixed": "docs, CUDA semantics: operators take tensors of one device",
    "wrapped": "aten/src/ATen/TensorIterator.cpp: a 0-dim CPU tensor is a number",
    # --- Indexing --------------------------------------------------------------------
    "list": "torch/csrc/autograd/python_variable_indexing.cpp: sequenceToVariable",
    "host_index": _NATIVE + "IndexingUtils.h: expandTensors(ensure_same_device)",
    "host_mask": _NATIVE
    + "IndexingUtils.h: nonzero() of a CPU mask uses pinned memory",
    "mask": _NATIVE + "IndexingUtils.h: expandTensors makes a mask nonzero()",
    "masked_put": _NATIVE + "TensorAdvancedIndexingUtils.h: canDispatchToMaskedFill",
    "put_value": "#186486: _index_put_impl_ copies a CPU value to the device",
    "put_one": "#188267: one element is copied, more are filled",
    "fill": "aten/src/ATen/TensorIndexing.h: copy_to fills with a 0-dim CPU tensor",
    "fill_value": _CUDA + "Indexing.cu: masked_fill__cuda reads a tensor's value",
    "index_fill": _NATIVE
    + "TensorAdvancedIndexing.cpp: index_fill_ calls source.item()",
    "masked_scatter": _CUDA + "IndexKernel.cpp: masked_scatter__cuda, a prefix sum",
    "where": _NATIVE + "TensorCompare.cpp: where_self_out moves a 0-dim CPU tensor",
    # --- Sizes -----------------------------------------------------------------------
    "nonzero": _CUDA + "Nonzero.cu: nonzero_out_cuda reads the number back",
    "static": _CUDA + "Nonzero.cu: nonzero_static_out_cuda has its size",
    "masked_select": _CUDA + "IndexKernel.cpp: masked_select is index by a mask",
    "unique": _CUDA + "Unique.cu, UniqueCub.cu: the number found is read back",
    "repeat": _NATIVE + "Repeat.h: the sum is read back without output_size",
    "repeat_int": "#60965: no wait where repeats is a number",
    "bincount": _CUDA + "SummaryOps.cu: _bincount_cuda reads min and max",
    "histc": _CUDA + "SummaryOps.cu: _histc_cuda reads min and max if both are 0",
    "one_hot": _NATIVE + "Onehot.cpp: reads max without num_classes",
    "combinations": "#74324: combinations uses masked_select",
    "isin": _NATIVE + "TensorCompare.cpp: isin_sorting uses _unique for many values",
    "split": "docs, torch.tensor_split: indices must be on the CPU",
    # --- Random numbers --------------------------------------------------------------
    "multinomial": "#134818: multinomial asserts on the device",
    "normal": _NATIVE
    + "DistributionTemplates.h: CHECK_NORMAL_TENSOR_STD reads std.min()",
    "validate": "torch/distributions/distribution.py: `if not valid.all()`, unless "
    "torch.compile was used before: torch/_dynamo/eval_frame.py switches it off",
    "uniform": "torch/distributions/uniform.py: `if not torch.lt(low, high).all()`",
    "rsample": "torch/distributions/utils.py: _standard_normal draws in place",
    # --- Mathematics -----------------------------------------------------------------
    "quantile": _NATIVE + "Sorting.cpp: quantile_checks reads q on a CPU only",
    "nanmedian": "#134819: nanmedian indexes on the device",
    "mode": _CUDA + "TensorModeKernel.cpp: up to 2048 in a slice by one kernel",
    "cov": _NATIVE + "Correlation.cpp: cov asks is_scalar_tensor_true",
    "linspace": _NATIVE + "RangeFactories.cpp: linspace of tensors calls item()",
    "istft": _NATIVE + "SpectralOps.cpp: istft asks is_scalar_tensor_true",
    "segment": _NATIVE + "SegmentReduce.cpp: lengths are checked unless unsafe",
    "linalg": _NATIVE + "BatchLinearAlgebra.cpp: _linalg_check_errors calls item()",
    "linalg_ex": "docs, torch.linalg.inv_ex: check_errors=False does not wait",
    "qr": _NATIVE + "BatchLinearAlgebra.cpp: linalg_qr_out has no error code",
    "matrix_exp": _NATIVE + "LinearAlgebra.cpp: matrices are sorted out by nonzero()",
    "sort": _CUDA + "Sort.cpp: sort_cuda_kernel",
    "sparse": _NATIVE + "TensorConversions.cpp: dense_to_sparse uses nonzero()",
    "coalesce": _NATIVE + "sparse/cuda/SparseCUDATensor.cu: the number found is read",
    # --- Layers and losses -----------------------------------------------------------
    "nll": _CUDA + "Loss.cu, NLLLoss2d.cu: targets are checked on the device",
    "smoothing": _NATIVE + "LossNLL.cpp: cross_entropy_loss_label_smoothing",
    "gaussian": "torch/nn/functional.py: gaussian_nll_loss, `torch.any(var < 0)`",
    "ctc": _CUDA + "LossCTC.cu: lengths and offsets are copied to the device",
    "ctc_lengths": _NATIVE + "LossCTC.cpp: ctc_loss.Tensor, lengths to the CPU",
    "adaptive": "torch/nn/modules/adaptive.py: nonzero() for each cluster",
    "renorm": _CUDA + "Embedding.cu: embedding_renorm_cuda_ counts on the device",
    "embedding": "#70943: no wait is left in the backward of embedding",
    "batch_norm": "torch/nn/modules/batchnorm.py: float(num_batches_tracked)",
    "padding": "torch/nn/modules/transformer.py asks "
    "_nested_tensor_mask_left_aligned, which returns a bool made of the mask",
    "causal": "torch/nn/modules/transformer.py: _detect_is_causal_mask",
    "pack": "torch/nn/utils/rnn.py: pack_padded_sequence; lengths are on the CPU",
    "unpack": "torch/nn/utils/rnn.py: pad_packed_sequence, unsorted_indices.cpu()",
    # --- Training --------------------------------------------------------------------
    "anomaly": "docs, torch.autograd.detect_anomaly: each gradient is checked",
    "steps": "torch/optim/optimizer.py: step counters are on the CPU",
    "lr": "torch/optim/adam.py: a tensor lr without capturable is read by _get_value",
    "asgd": "torch/optim/asgd.py: torch.as_tensor makes new eta and mu",
    "lbfgs": "torch/optim/lbfgs.py: float(closure()) and comparisons",
    "plateau": "torch/optim/lr_scheduler.py: ReduceLROnPlateau, float(metrics)",
    "scaler": "torch/amp/grad_scaler.py: _maybe_opt_step sums found_inf.item()",
    "scale": "torch/amp/grad_scaler.py: get_scale calls item()",
    "clip": "torch/nn/utils/clip_grad.py: only error_if_nonfinite asks",
    "averaged": "torch/optim/swa_utils.py: n_averaged.to(device), _foreach_lerp_ by it",
    "checkpoint": "torch/utils/checkpoint.py: keeps the state of the generators",
    "close": "torch/testing/_comparison.py: `if torch.all(matches)`",
}
