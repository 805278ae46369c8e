// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/decode.cpp: the rules on decode steps of serving engines, which share
// what patterns/decode_steps.h finds; each claims the idle time of its cause.
//
// Options by name as of vLLM 0.14 (January 2026: asynchronous scheduling is the
// default from there on) and SGLang 0.5.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>

#include "patterns/communication.h"
#include "patterns/decode_steps.h"
#include "patterns/device_work.h"
#include "patterns/marks.h"
#include "patterns/rule.h"

namespace tta::patterns {
namespace decode {
namespace {

constexpr std::array kThresholds = {
    Threshold{"min_share", 0.02, "share",
              "a step repeats thousands of times: 2 % of it is worth an option"}};

// The marks of one or two causes, the second as sub-type 1.
std::vector<Mark> marks_of(const Context& context, DecodeCause first,
                           DecodeCause second) {
  std::vector<Mark> out;
  for (const auto& [cause, mark] : decode_steps(context).marks) {
    if (cause != first && cause != second) continue;
    out.push_back(mark);
    out.back().subtype = cause == first ? 0 : 1;
  }
  return out;
}

template <PatternId pattern, DecodeCause first, DecodeCause second = first>
std::vector<Claim> propose(const Context& context) {
  return claim_marks(context, pattern, marks_of(context, first, second));
}

std::vector<Claim> propose_sampling(const Context& context) {
  auto waits = marks_of(context, DecodeCause::kSampling, DecodeCause::kSampling);
  auto claims = claim_marks(context, PatternId::kDecodeSamplingSync, waits);
  // The wait is to go, not the host's work after it.
  for (auto& wait : waits) wait.time = {};
  note_sites(context, PatternId::kDecodeSamplingSync, std::move(waits));
  return claims;
}

// How many steps' time, or what followed it, is in a finding.
std::size_t steps_of(const Context& context, const Finding& f) {
  const auto& begins = decode_steps(context).begins;
  std::set<std::int64_t> out;
  for (const auto& claim : f.claims) {
    const auto* begin = timeline::last_begun(begins, claim.begin, std::identity());
    out.insert(begin == nullptr ? 0 : *begin);
  }
  return std::max<std::size_t>(1, out.size());
}

std::string each(const Context& context, const Finding& f) {
  const auto steps = steps_of(context, f);
  return count_text(steps, "step", "steps") +
         (steps > 1
              ? " (" + duration_text(f.wasted_ns / static_cast<std::int64_t>(steps)) +
                    " each)"
              : "");
}

const std::string& engine(const Context& context) {
  return decode_steps(context).engine;
}
bool is_vllm(const Context& context) { return engine(context) == "vLLM"; }

// --- Steps without graphs --------------------------------------------------------

enum : std::uint8_t { kOfSize, kOfAll };

std::string describe_eager(const Context& context, const Finding& f) {
  std::uint32_t launches = 0;
  std::int64_t batch = -1, largest = -1;
  for (const auto& step : decode_steps(context).steps) {
    if (step.graph_launches > 0 && step.decodes()) {
      largest = std::max(largest, step.scope.batch);
    } else if (step.launches > launches) {
      launches = step.launches;
      batch = step.scope.batch;
    }
  }
  std::string text = engine(context) + " launched up to " +
                     count_text(launches, "kernel", "kernels") +
                     " one by one in a step, without a CUDA graph";
  if (f.subtype == kOfSize && batch > largest && largest > 0) {
    text += ": batch " + std::to_string(batch) + ", with graphs up to " +
            std::to_string(largest);
  }
  return text + ". The device idled " + duration_text(f.wasted_ns) + " meanwhile.";
}

std::string advise_eager(const Context& context, const Finding& f) {
  if (f.subtype == kOfSize) {
    return is_vllm(context)
               ? "Capture graphs for these batches: cudagraph_capture_sizes in "
                 "--compilation-config, or a larger --max-num-seqs."
               : "Capture graphs for these batches: --cuda-graph-max-bs of at least "
                 "the largest batch.";
  }
  return is_vllm(context)
             ? "Start vLLM without --enforce-eager, and with a size in "
               "cudagraph_capture_sizes (--compilation-config) that is not less than "
               "the tokens of a step."
             : "Start the server without --disable-cuda-graph.";
}

// --- Graphs ----------------------------------------------------------------------

std::string describe_launch(const Context& context, const Finding& f) {
  const auto& t = context.timeline;
  const auto row = f.events.front();
  return "The device idled " + duration_text(f.wasted_ns) + " in " + each(context, f) +
         " while the step's graph was being launched: the longest launch took " +
         duration_text(t.columns().dur[row]) + ".";
}

std::string describe_pieces(const Context& context, const Finding& f) {
  std::uint32_t most = 0;
  for (const auto& step : decode_steps(context).steps) {
    if (step.decodes()) most = std::max(most, step.graph_launches);
  }
  return "A decode step launched up to " + count_text(most, "graph", "graphs") +
         "; between them the device idled " + duration_text(f.wasted_ns) + " in " +
         each(context, f) + ".";
}

std::string advise_pieces(const Context& context, const Finding&) {
  return is_vllm(context)
             ? "Capture decode steps as one graph: cudagraph_mode FULL_AND_PIECEWISE "
               "or FULL_DECODE_ONLY in --compilation-config, with an attention backend "
               "that supports it."
             : "Capture decode steps as one graph, attention included.";
}

// --- Between steps ---------------------------------------------------------------

std::string describe_sampling(const Context& context, const Finding& f) {
  return "The host waited for the tokens of " + each(context, f) +
         ", and the device idled " + duration_text(f.wasted_ns) +
         " until it had work again.";
}

std::string advise_sampling(const Context&, const Finding&) {
  return "Keep the tokens on the device for the next step, and copy them with "
         "non_blocking=True to pinned memory to be read a step later.";
}

std::string describe_serial(const Context& context, const Finding& f) {
  return "No step was launched before the one before it had ended: the device idled " +
         duration_text(f.wasted_ns) + " after " + each(context, f) +
         " while the host scheduled and prepared the next.";
}

std::string advise_serial(const Context& context, const Finding&) {
  return std::string(
             is_vllm(context)
                 ? "Schedule asynchronously: --async-scheduling (the default from vLLM "
                   "0.14 on, unless an option such as pipeline parallelism excludes it)"
                 : "Schedule while the step before runs: start SGLang without "
                   "--disable-overlap-schedule") +
         ", and read no value of a step before the next is launched.";
}

std::string describe_gap(const Context& context, const Finding& f) {
  return "Between decode steps the device idled " + duration_text(f.wasted_ns) +
         " after " + each(context, f) + " while the host was busy here.";
}

std::string advise_gap(const Context& context, const Finding&) {
  return (is_vllm(context)
              ? std::string("Move it off the path from one step to the next: a later "
                            "vLLM, asynchronous scheduling (--async-scheduling), ")
              : std::string("Move it off the path from one step to the next: overlap "
                            "scheduling, ")) +
         "detokenization and logging in another process, cheaper sampling options.";
}

// The device of some work, by its place.
std::uint32_t place_of(const timeline::Timeline& t, std::uint32_t row) {
  const auto device = t.lanes.lanes[t.lanes.lane[row]].device;
  const auto at = std::ranges::find(t.devices, device, &timeline::DeviceTime::device);
  return static_cast<std::uint32_t>(at - t.devices.begin());
}

// --- Collectives -----------------------------------------------------------------

std::vector<Claim> propose_comm(const Context& context) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  std::map<std::uint32_t, std::vector<Mark>> by_device;
  for (const auto& step : decode_steps(context).steps) {
    if (!step.decodes()) continue;
    for (const auto row : step.work) {
      if (!t.is_communication(row)) continue;
      by_device[place_of(t, row)].push_back({{c.ts[row], c.end(row)}, row});
    }
  }
  std::vector<Claim> claims;
  for (auto& [place, marks] : by_device) {
    const auto more = claim_exposed(context, PatternId::kDecodeCommExposed, place,
                                    std::move(marks), computation(t, t.devices[place]));
    claims.insert(claims.end(), more.begin(), more.end());
  }
  return claims;
}

std::string describe_comm(const Context& context, const Finding& f) {
  return count_text(f.count, "collective", "collectives") + " of " + each(context, f) +
         " ran for " + duration_text(f.wasted_ns) +
         " with no computation beside them (waiting for the slowest rank included).";
}

std::string advise_comm(const Context& context, const Finding& f) {
  const auto& t = context.timeline;
  const bool nccl =
      t.trace->name(f.events.front()).find("nccl") != std::string_view::npos;
  return std::string(nccl ? "Use a one-shot all-reduce for these small sizes ("
                          : "Fuse the all-reduce with the add and norm after it (") +
         (is_vllm(context)
              ? (nccl ? "vLLM: leave out --disable-custom-all-reduce; on NVLink also "
                        "VLLM_ALLREDUCE_USE_SYMM_MEM=1"
                      : "vLLM: fuse_allreduce_rms in pass_config of "
                        "--compilation-config")
              : (nccl ? "SGLang: leave out --disable-custom-all-reduce"
                      : "SGLang: --enable-flashinfer-allreduce-fusion")) +
         "), and compare the ranks' traces: a late rank makes all wait.";
}

// --- Work ------------------------------------------------------------------------

std::vector<Claim> propose_padding(const Context& context) {
  const auto& t = context.timeline;
  std::vector<Excess> excess;
  for (const auto& step : decode_steps(context).steps) {
    const auto real = step.scope.batch, padded = step.scope.padded_batch;
    if (!step.decodes() || real < 1 || padded <= real) continue;
    const auto share = 1 - static_cast<double>(real) / static_cast<double>(padded);
    for (const auto row : step.work) {
      const auto category = timeline::work_category(t, row);
      if (category != timeline::WorkCategory::kProduct &&
          category != timeline::WorkCategory::kExperts) {
        continue;
      }
      excess.push_back({place_of(t, row), row, share, row, 0});
    }
  }
  return claim_rows(context, PatternId::kDecodePadding, std::move(excess));
}

std::string describe_padding(const Context& context, const Finding& f) {
  std::int64_t real = 0, padded = 0;
  for (const auto& step : decode_steps(context).steps) {
    if (step.scope.padded_batch < step.scope.batch || step.scope.batch < 1) continue;
    real += step.scope.batch;
    padded += step.scope.padded_batch;
  }
  return "Of " + std::to_string(padded) + " requests that decode steps computed, " +
         std::to_string(padded - real) + " were padding: up to " +
         duration_text(f.wasted_ns) + " of their products.";
}

std::vector<Claim> propose_dequantize(const Context& context) {
  const auto& t = context.timeline;
  std::vector<Excess> excess;
  for (const auto& step : decode_steps(context).steps) {
    if (!step.decodes()) continue;
    for (const auto row : step.work) {
      // Neither a product that dequantizes on the way, nor a cache.
      if (!t.named(row, Name::kDequantizes) || t.named(row, Name::kTuned) ||
          t.trace->name(row).find("cache") != std::string_view::npos) {
        continue;
      }
      excess.push_back({place_of(t, row), row, 1, row, 0});
    }
  }
  return claim_rows(context, PatternId::kDequantPerStep, std::move(excess));
}

std::string describe_dequantize(const Context& context, const Finding& f) {
  return count_text(f.count, "kernel", "kernels") + " of " + each(context, f) +
         " only turned quantized weights into wider ones, for " +
         duration_text(f.wasted_ns) + ".";
}

// --- Small kernels, attention ----------------------------------------------------

// A kernel starts and ends in 2 to 5 us: shorter ones mostly do that.
constexpr std::int64_t kSmall = 5'000;
// Shorter chains are worth little, and what occurs less often is not once a layer.
constexpr std::size_t kChain = 3, kLayers = 8;

// Runs of small kernels without products, attention or collectives between them, on one
// stream, by the names in them.
using Chains =
    std::map<std::vector<std::uint32_t>, std::vector<std::vector<std::uint32_t>>>;

Chains chains_of(const timeline::Timeline& t, const timeline::EngineStep& step) {
  const auto& c = t.columns();
  std::map<std::uint32_t, std::vector<std::uint32_t>> running;  // by stream
  Chains out;
  const auto close = [&](std::vector<std::uint32_t>& chain) {
    if (chain.size() >= kChain) {
      std::vector<std::uint32_t> names;
      for (const auto row : chain) names.push_back(c.name[row]);
      out[names].push_back(chain);
    }
    chain.clear();
  };
  for (const auto row : step.work) {
    auto& chain = running[t.lanes.lane[row]];
    const auto category = timeline::work_category(t, row);
    const bool small = t.is_kernel(row) && c.dur[row] < kSmall &&
                       (category == timeline::WorkCategory::kNormElementwise ||
                        category == timeline::WorkCategory::kOther);
    if (small) {
      chain.push_back(row);
    } else {
      close(chain);
    }
  }
  for (auto& [lane, chain] : running) close(chain);
  std::erase_if(out, [](const auto& alike) { return alike.second.size() < kLayers; });
  return out;
}

std::vector<Claim> propose_small(const Context& context) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  std::vector<Excess> excess;
  for (const auto& step : decode_steps(context).steps) {
    if (!step.decodes()) continue;
    for (const auto& [names, alike] : chains_of(t, step)) {
      for (const auto& chain : alike) {
        // One kernel is left, as long as the longest.
        const auto longest =
            *std::ranges::max_element(chain, {}, [&](auto row) { return c.dur[row]; });
        for (const auto row : chain) {
          if (row != longest) {
            excess.push_back({place_of(t, row), row, 1, chain.front(), 0});
          }
        }
      }
    }
  }
  return claim_rows(context, PatternId::kUnfusedSmallKernels, std::move(excess));
}

std::string describe_small(const Context& context, const Finding& f) {
  return count_text(f.count, "chain", "chains") + " of kernels under 5 µs in " +
         each(context, f) + ": up to " + duration_text(f.wasted_ns) +
         " less if each chain were one kernel.";
}

std::string advise_small(const Context& context, const Finding&) {
  return is_vllm(context)
             ? "Let vLLM fuse them: fuse_norm_quant, fuse_act_quant and "
               "fuse_allreduce_rms in pass_config of --compilation-config."
             : "Let torch.compile fuse them (--enable-torch-compile), or use the "
               "engine's fused kernels for norm, rotary embedding and quantization.";
}

// Softmax over scores in memory between two products, in steps in which no kernel is a
// fused attention. A router has no product right before it.
std::vector<Claim> propose_attention(const Context& context) {
  const auto& t = context.timeline;
  constexpr std::size_t kNear = 3;  // scaling, mask and dropout may lie between
  std::vector<Excess> excess;
  for (const auto& step : decode_steps(context).steps) {
    const auto& work = step.work;
    const auto fused = [&](auto row) { return t.named(row, Name::kAttends); };
    if (step.scope.kind == timeline::EngineStepKind::kOther ||
        std::ranges::any_of(work, fused)) {
      continue;
    }
    const auto is_product = [&](std::size_t i) {
      return timeline::work_category(t, work[i]) == timeline::WorkCategory::kProduct;
    };
    std::vector<Excess> own;
    for (std::size_t i = 0; i < work.size(); ++i) {
      if (!t.named(work[i], Name::kSoftmaxKernel) ||
          t.named(work[i], Name::kOfExperts) || t.named(work[i], Name::kSamples)) {
        continue;
      }
      bool before = false, after = false;
      for (std::size_t by = 1; by <= kNear; ++by) {
        before = before || (i >= by && is_product(i - by));
        after = after || (i + by < work.size() && is_product(i + by));
      }
      if (before && after)
        own.push_back({place_of(t, work[i]), work[i], 1, work[i], 0});
    }
    if (own.size() >= kLayers) excess.insert(excess.end(), own.begin(), own.end());
  }
  return claim_rows(context, PatternId::kAttentionBackend, std::move(excess));
}

std::string describe_attention(const Context& context, const Finding& f) {
  return "Attention of " + each(context, f) + " ran as products with " +
         count_text(f.count, "softmax", "softmaxes") + " between them, which took " +
         duration_text(f.wasted_ns) + ": a fused kernel keeps the scores on chip.";
}

std::string advise_attention(const Context& context, const Finding&) {
  return is_vllm(context)
             ? "Choose a fused backend: --attention-backend FLASH_ATTN or FLASHINFER, "
               "on ROCm ROCM_AITER_FA; vLLM's log says why it chose another."
             : "Choose a fused backend: --attention-backend fa3, flashinfer or triton, "
               "on ROCm aiter.";
}

}  // namespace
}  // namespace decode

const Rule kDecodeEagerFallbackRule{
    PatternId::kDecodeEagerFallback, decode::kThresholds,
    decode::propose<PatternId::kDecodeEagerFallback, DecodeCause::kFallback,
                    DecodeCause::kEager>,
    decode::describe_eager, decode::advise_eager};
const Rule kGraphLaunchExposedRule{
    PatternId::kGraphLaunchExposed, decode::kThresholds,
    decode::propose<PatternId::kGraphLaunchExposed, DecodeCause::kGraphLaunch>,
    decode::describe_launch};
const Rule kPiecewiseGraphRule{
    PatternId::kPiecewiseGraph, decode::kThresholds,
    decode::propose<PatternId::kPiecewiseGraph, DecodeCause::kPieces>,
    decode::describe_pieces, decode::advise_pieces};
const Rule kDecodeSamplingSyncRule{PatternId::kDecodeSamplingSync, decode::kThresholds,
                                   decode::propose_sampling, decode::describe_sampling,
                                   decode::advise_sampling};
const Rule kAsyncSchedulingOffRule{
    PatternId::kAsyncSchedulingOff, decode::kThresholds,
    decode::propose<PatternId::kAsyncSchedulingOff, DecodeCause::kSerial>,
    decode::describe_serial, decode::advise_serial};
const Rule kDecodeHostGapRule{
    PatternId::kDecodeHostGap, decode::kThresholds,
    decode::propose<PatternId::kDecodeHostGap, DecodeCause::kBetween>,
    decode::describe_gap, decode::advise_gap};
const Rule kDecodeCommExposedRule{PatternId::kDecodeCommExposed, decode::kThresholds,
                                  decode::propose_comm, decode::describe_comm,
                                  decode::advise_comm};
const Rule kDecodePaddingRule{PatternId::kDecodePadding, decode::kThresholds,
                              decode::propose_padding, decode::describe_padding};
const Rule kDequantPerStepRule{PatternId::kDequantPerStep, decode::kThresholds,
                               decode::propose_dequantize, decode::describe_dequantize};

const Rule kUnfusedSmallKernelsRule{PatternId::kUnfusedSmallKernels,
                                    decode::kThresholds, decode::propose_small,
                                    decode::describe_small, decode::advise_small};
const Rule kAttentionBackendRule{PatternId::kAttentionBackend, decode::kThresholds,
                                 decode::propose_attention, decode::describe_attention,
                                 decode::advise_attention};

}  // namespace tta::patterns
