// SPDX-License-Identifier: BSD-3-Clause
// features/kind.cpp: the table of kinds, and the kind of each row.
#include "features/kind.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "timeline/names.h"

namespace tta::features {

namespace {

using timeline::contains;
using timeline::contains_any;
using timeline::Name;

// Operators of ATen by name, without "aten::" and the "_" of those in place.
struct Family {
  Kind kind;
  std::string_view names;  // each between spaces
};

constexpr std::array kFamilies = {
    Family{Kind::kView,
           " t numpy_T transpose permute movedim view view_as _unsafe_view "
           "_reshape_alias reshape flatten unflatten expand expand_as "
           "broadcast_tensors as_strided select slice narrow diagonal unsqueeze "
           "squeeze split split_with_sizes chunk unbind detach alias lift_fresh conj "
           "resolve_conj resolve_neg result_type set size unflatten_dense_tensors "
           "view_as_real view_as_complex unfold swapaxes real imag tensor_split "},
    Family{Kind::kReserve,
           " empty empty_like empty_strided new_empty new_empty_strided resize "
           "resize_as "},
    Family{
        Kind::kMatrix,
        " mm bmm addmm addbmm baddbmm matmul linear _scaled_mm mv addmv dot outer "
        "einsum convolution _convolution conv1d conv2d conv3d conv_transpose1d "
        "conv_transpose2d conv_transpose3d thnn_conv2d _slow_conv2d_forward "
        "_slow_conv2d_backward mkldnn_convolution convolution_backward "
        "convolution_overrideable lstm gru rnn_tanh _thnn_fused_lstm_cell _cudnn_rnn "
        "mkldnn_linear mkldnn_rnn_layer multi_head_attention_forward tensordot "
        "linalg_solve linalg_solve_ex _linalg_solve_ex linalg_lu linalg_cholesky "
        "linalg_inv svd _linalg_svd _linalg_eigh cdist _cdist_forward bilinear "},
    Family{Kind::kIndex,
           " index index_put _index_put_impl index_select index_add index_copy "
           "index_fill gather scatter scatter_add scatter_reduce take take_along_dim "
           "embedding embedding_dense_backward embedding_backward _embedding_bag cat "
           "stack roll flip masked_fill masked_scatter where repeat repeat_interleave "
           "tril triu pad constant_pad_nd grid_sampler grid_sampler_2d tile "
           "slice_backward select_backward "},
    Family{Kind::kCopy,
           " copy to _to_copy clone contiguous type_as float half cpu cuda "
           "pin_memory _pin_memory is_pinned bfloat16 double int long "},
    Family{Kind::kFill,
           " zero zeros zeros_like ones ones_like full full_like fill "
           "new_zeros new_ones new_full arange linspace eye scalar_tensor "
           "tensor _efficientzerotensor one_hot "},
    Family{Kind::kRandom,
           " normal uniform random randn rand randint randperm bernoulli "
           "dropout native_dropout multinomial exponential rand_like "
           "randn_like randint_like native_dropout_backward rrelu "},
    Family{Kind::kRead,
           " item _local_scalar_dense nonzero is_nonzero nonzero_numpy "
           "masked_select unique _unique2 unique_dim equal allclose "
           "argwhere bincount tolist unique_consecutive histc "},
    Family{Kind::kReduce,
           " sum mean max min amax amin argmax argmin prod norm linalg_vector_norm var "
           "std var_mean std_mean any all cumsum cumprod sort topk kthvalue median "
           "logsumexp nansum count_nonzero aminmax argsort searchsorted "},
    Family{
        Kind::kElementwise,
        " add sub rsub mul div true_divide floor_divide remainder fmod pow sqrt rsqrt "
        "exp log log2 log1p expm1 sin cos tan abs neg sign floor ceil round trunc frac "
        "clamp clamp_min clamp_max relu gelu silu sigmoid tanh leaky_relu elu hardtanh "
        "hardswish hardsigmoid mish softplus threshold maximum minimum eq ne lt le gt "
        "ge logical_and logical_or logical_not logical_xor bitwise_and bitwise_or "
        "bitwise_not bitwise_xor addcmul addcdiv lerp reciprocal square erf isnan "
        "isinf isfinite nan_to_num atan2 hypot polar complex glu "},
};

// Parts of names that decide the rest; the first row with a match wins.
struct Parts {
  Kind kind;
  std::array<std::string_view, 10> parts;
};

constexpr std::array kParts = {
    Parts{Kind::kOptimizer,
          {"_foreach_", "_fused_adam", "_fused_sgd", "_fused_adagrad", "Optimizer.",
           "multi_tensor"}},
    Parts{Kind::kCompiled,
          {"Torch-Compiled", "CompiledF", "## Call", "triton", "TorchDynamo",
           "inductor", "AOTAutograd", "dynamo_timed"}},
    Parts{Kind::kQuantize,
          {"quantize", "quantized::", "fake_quant", "_int_mm", "fbgemm", "qlinear",
           "qconv"}},
    Parts{Kind::kMatrix,
          {"attention", "convolution", "_rnn", "flash", "gemm", "matmul"}},
    Parts{Kind::kReduce, {"norm", "softmax", "pool", "loss", "entropy"}},
    Parts{Kind::kIndex, {"index", "embedding", "upsample", "grid_sample", "scatter"}},
    Parts{Kind::kElementwise, {"_backward"}},
};

bool has_any(std::string_view name, const std::array<std::string_view, 10>& parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
    return !part.empty() && contains(name, part);
  });
}

bool names_backward(std::string_view name) {
  return name.starts_with("autograd::") || contains(name, "Backward") ||
         contains(name, "AccumulateGrad");
}

// Of torch.distributed's operators, and the ranges in which a backend carries out a
// collective. The ranges around it (that of DistributedDataParallel's forward holds a
// whole pass) are the program's.
bool names_a_backend(std::string_view name) {
  const auto means = timeline::meanings_of(name);
  const auto has = [&](Name what) { return means[static_cast<std::size_t>(what)]; };
  return has(Name::kBackend) || has(Name::kDeviceBackend) || has(Name::kCollectiveCall);
}

bool names_collective(std::string_view name) {
  return names_a_backend(name) || timeline::means(name, Name::kDistributed) ||
         name == "record_param_comms";
}

std::string lower_case(std::string_view name) {
  std::string out(name);
  for (auto& ch : out)
    ch = static_cast<char>(std::tolower(static_cast<unsigned char>(ch)));
  return out;
}

}  // namespace

Kind operator_kind(std::string_view name) {
  if (names_backward(name)) return Kind::kBackward;
  if (name.starts_with("aten::")) {
    auto bare = name.substr(6);
    if (bare.size() > 1 && bare.ends_with('_')) bare.remove_suffix(1);
    const auto word = " " + std::string(bare) + " ";
    for (const auto& family : kFamilies) {
      if (contains(family.names, word)) return family.kind;
    }
  }
  for (const auto& row : kParts) {
    if (has_any(name, row.parts)) return row.kind;
    // An optimizer that communicates is one.
    if (row.kind == Kind::kOptimizer && names_collective(name)) {
      return Kind::kCollective;
    }
  }
  return Kind::kOther;
}

Kind call_kind(std::string_view name) {
  if (contains(name, "GraphLaunch")) return Kind::kGraphLaunch;
  if (timeline::means(name, timeline::Name::kLaunch)) return Kind::kLaunch;
  if (contains(name, "ynchronize")) return Kind::kWait;
  if (contains_any(name, {"emcpy", "emset", "enqueueCommand"})) return Kind::kCopyCall;
  if (contains_any(name, {"Malloc", "Free", "HostAlloc", "MemAlloc", "MemCreate",
                          "MemMap", "MemRelease", "HostRegister"})) {
    return Kind::kMemory;
  }
  if (contains_any(name, {"Event", "Stream", "event", "stream"})) return Kind::kEvent;
  if (contains_any(name, {"Module", "Library", "Link", "FuncGetAttributes"})) {
    return Kind::kModule;
  }
  return contains_any(name, {"Launch", "launch"}) ? Kind::kLaunch : Kind::kCall;
}

Kind kernel_kind(std::string_view kernel) {
  const auto name = lower_case(kernel);
  if (contains_any(name,
                   {"gemm",        "gemv",   "cutlass",  "nvjet", "cudnn",  "winograd",
                    "fmha",        "flash",  "attn",     "cijk_", "cublas", "attention",
                    "triton_tem_", "marlin", "convolve", "_conv", "conv_",  "wgrad",
                    "dgrad",       "fprop",  "hmma",     "wmma"})) {
    return Kind::kMatrixKernel;
  }
  if (contains_any(name, {"reduce", "softmax", "norm", "pool", "triton_red_",
                          "triton_per_", "scan", "sort", "argmax", "nll_loss"})) {
    return Kind::kReduceKernel;
  }
  if (contains_any(name, {"elementwise", "triton_poi_", "multi_tensor", "fillfunctor",
                          "pointwise", "catarray", "dropout"})) {
    return Kind::kElementwiseKernel;
  }
  return Kind::kKernel;
}

namespace {

using timeline::CopyDirection;
using trace::Category;

constexpr std::array kTable = {
#define TTA_KIND_INFO(id, name, doc) KindInfo{name, doc},
    TTA_KINDS(TTA_KIND_INFO)
#undef TTA_KIND_INFO
};

Kind copy_kind(CopyDirection direction) {
  switch (direction) {
    case CopyDirection::kToDevice:
      return Kind::kToDevice;
    case CopyDirection::kToHost:
      return Kind::kToHost;
    default:
      return Kind::kInDevice;
  }
}

// Caches a function's result for each name.
template <Kind (*Ask)(std::string_view)>
class Asked {
 public:
  explicit Asked(const trace::Trace& trace)
      : trace_(trace), known_(trace.strings.size(), kUnknown) {}
  Kind operator()(std::uint32_t row) {
    auto& known = known_[trace_.columns.name[row]];
    if (known == kUnknown) {
      known = static_cast<std::uint8_t>(Ask(trace_.name(row)));
    }
    return static_cast<Kind>(known);
  }

 private:
  static constexpr std::uint8_t kUnknown = 255;
  const trace::Trace& trace_;
  std::vector<std::uint8_t> known_;
};

Kind range_kind(std::string_view name) {
  if (name == "Python GC") return Kind::kCollect;
  if (names_a_backend(name)) return Kind::kCollective;
  return operator_kind(name) == Kind::kCompiled ? Kind::kCompiled : Kind::kRange;
}

Kind copy_by_name(std::string_view name) {
  return copy_kind(timeline::copy_direction(name));
}

}  // namespace

std::span<const KindInfo> kinds() { return kTable; }

std::vector<Kind> kinds_of_rows(const timeline::Timeline& t) {
  const auto& c = t.columns();
  std::vector<Kind> out(c.size(), Kind::kOther);
  Asked<operator_kind> of_operator(*t.trace);
  Asked<range_kind> of_range(*t.trace);
  Asked<call_kind> of_call(*t.trace);
  Asked<kernel_kind> of_kernel(*t.trace);
  Asked<copy_by_name> of_copy(*t.trace);
  for (const auto row : t.lanes.rows) {
    const auto cat = c.cat(row);
    auto& kind = out[row];
    if (t.lanes.on_stream(row)) {
      kind = cat == Category::kGpuMemset ? Kind::kMemset
             : t.is_copy(row)            ? of_copy(row)
             : t.is_communication(row)   ? Kind::kCommunication
                                         : of_kernel(row);
    } else if (c.cat_info(row).runtime_api) {
      kind = of_call(row);
    } else if (cat == Category::kCpuOp) {
      kind = of_operator(row);
    } else {
      kind = of_range(row);
    }
  }
  for (const auto* list : {&t.spans.steps, &t.spans.loader, &t.spans.optimizer}) {
    for (const auto& span : *list) {
      out[span.row] = span.kind == timeline::SpanKind::kStep     ? Kind::kStep
                      : span.kind == timeline::SpanKind::kLoader ? Kind::kLoader
                                                                 : Kind::kOptimizer;
    }
  }
  return out;
}

}  // namespace tta::features
