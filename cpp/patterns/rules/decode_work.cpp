// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/decode_work.cpp: the rules on the device work of decode steps. Options
// by name as of vLLM 0.14 and SGLang 0.5.
#include <algorithm>
#include <map>

#include "patterns/communication.h"
#include "patterns/decode_steps.h"
#include "patterns/device_work.h"
#include "patterns/rule.h"
#include "patterns/rules/decode_text.h"
#include "timeline/engine_time.h"

namespace tta::patterns {
namespace decode {
namespace {

// The device of some work, by its place.
std::uint32_t place_of(const timeline::Timeline& t, std::uint32_t row) {
  const auto device = t.lanes.lanes[t.lanes.lane[row]].device;
  const auto at = std::ranges::find(t.devices, device, &timeline::DeviceTime::device);
  return static_cast<std::uint32_t>(at - t.devices.begin());
}

bool reads_weights(const timeline::Timeline& t, std::uint32_t row) {
  const auto category = timeline::work_category(t, row);
  return category == timeline::WorkCategory::kProduct ||
         category == timeline::WorkCategory::kExperts;
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
    const auto [real, padded] = step.scope.rows();
    if (!step.decodes() || padded <= real) continue;
    const auto share = 1 - static_cast<double>(real) / static_cast<double>(padded);
    for (const auto row : step.work) {
      if (reads_weights(t, row)) {
        excess.push_back({place_of(t, row), row, share, row, 0});
      }
    }
  }
  return claim_rows(context, PatternId::kDecodePadding, std::move(excess));
}

std::string describe_padding(const Context& context, const Finding& f) {
  std::int64_t real = 0, padded = 0;
  for (const auto& step : decode_steps(context).steps) {
    if (!step.decodes()) continue;
    const auto [some, all] = step.scope.rows();
    real += some;
    padded += all;
  }
  return "Of " + std::to_string(padded) +
         " rows of the batches that decode steps computed, " +
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

// --- Prompts ---------------------------------------------------------------------

// A prefill of this size in tokens is limited by computing, and decode steps by reading
// the weights: one that runs in it has them for nothing. vLLM's max_num_batched_tokens.
constexpr std::int64_t kChunk = 2048;

// Decode steps that could have run in the prompts' steps: one in each chunk.
std::size_t mergeable(const std::vector<timeline::EngineStep>& steps,
                      const timeline::PromptWait& wait) {
  std::size_t out = 0;
  for (auto i = wait.first; i <= wait.last; ++i) {
    const auto tokens = std::max<std::int64_t>(steps[i].scope.tokens, 1);
    out += static_cast<std::size_t>((tokens + kChunk - 1) / kChunk);
  }
  return out;
}

std::vector<Claim> propose_prefill(const Context& context) {
  const auto& t = context.timeline;
  const auto& steps = decode_steps(context).steps;
  std::vector<Excess> excess;
  for (const auto& wait : timeline::list_prompt_waits(steps)) {
    if (wait.mixed) continue;  // It costs the requests time, and the device none.
    auto left = mergeable(steps, wait);
    for (auto i = wait.last + 1; i < steps.size() && left > 0; ++i, --left) {
      if (steps[i].pid != steps[wait.last].pid || !steps[i].decodes()) break;
      for (const auto row : steps[i].work) {
        if (reads_weights(t, row)) {
          excess.push_back({place_of(t, row), row, 1, steps[wait.first].row, 0});
        }
      }
    }
  }
  return claim_rows(context, PatternId::kPrefillBlocksDecode, std::move(excess));
}

std::string describe_prefill(const Context& context, const Finding& f) {
  std::int64_t longest = 0, sum = 0, usual = 0;
  std::size_t count = 0;
  for (const auto& wait : timeline::list_prompt_waits(decode_steps(context).steps)) {
    if (wait.mixed) continue;
    ++count;
    longest = std::max(longest, wait.extra_ns);
    sum += wait.extra_ns;
    usual = wait.usual_ns;
  }
  return "Prompts ran alone between decode steps " +
         (count == 1 ? "once" : count_text(count, "time", "times")) +
         ": a token came up to " + duration_text(longest) +
         " late, where a step takes " + duration_text(usual) + " (" +
         duration_text(sum) + " in all). " + each(context, f) +
         " could have run in them: up to " + duration_text(f.wasted_ns) +
         " of their products.";
}

std::string advise_prefill(const Context& context, const Finding&) {
  return is_vllm(context)
             ? "Let decode steps run in chunks of prompts: "
               "--enable-chunked-prefill (the default of vLLM's V1 engine) with "
               "--max-num-batched-tokens of 2048 to 8192; or prefill on other devices."
             : "Let decode steps run in chunks of prompts: --enable-mixed-chunk with "
               "--chunked-prefill-size of 2048 to 8192; or prefill on other devices "
               "(--disaggregation-mode).";
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

const Rule kDecodeCommExposedRule{PatternId::kDecodeCommExposed, decode::kThresholds,
                                  decode::propose_comm, decode::describe_comm,
                                  decode::advise_comm};
const Rule kDecodePaddingRule{PatternId::kDecodePadding, decode::kThresholds,
                              decode::propose_padding, decode::describe_padding};
const Rule kPrefillBlocksDecodeRule{PatternId::kPrefillBlocksDecode,
                                    decode::kThresholds, decode::propose_prefill,
                                    decode::describe_prefill, decode::advise_prefill};
const Rule kDequantPerStepRule{PatternId::kDequantPerStep, decode::kThresholds,
                               decode::propose_dequantize, decode::describe_dequantize};
const Rule kUnfusedSmallKernelsRule{PatternId::kUnfusedSmallKernels,
                                    decode::kThresholds, decode::propose_small,
                                    decode::describe_small, decode::advise_small};
const Rule kAttentionBackendRule{PatternId::kAttentionBackend, decode::kThresholds,
                                 decode::propose_attention, decode::describe_attention,
                                 decode::advise_attention};

}  // namespace tta::patterns
