// SPDX-License-Identifier: BSD-3-Clause
// timeline/engine_steps.h: the forward passes of serving engines, as their annotations
// name them.
//
// vLLM, SGLang and ATOM wrap each forward pass in a scope whose name has its kind and
// size (vllm/v1/utils.py and gpu_model_runner.py, sglang/srt/model_executor, seen in
// traces of 2025 and 2026):
//
//   execute_context_1(888)_generation_4(4)     requests (tokens): vLLM
//   execute_36_context_1(sq32sk40..)_generation_4(sq4sk900..)   with sums of query and
//                                              key lengths: vLLM in detail
//   execute_new_1_cached_4                     older vLLM
//   step[DECODE bs=64], step[EXTEND bs=2 toks=14721]            SGLang
//   prefill[bs=2 tok=14721 ctx=..], decode[bs=117/128 tok=117 d=117]   ATOM, padded
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "timeline/intervals.h"
#include "timeline/timeline.h"

namespace tta::timeline {

enum class EngineStepKind : std::uint8_t {
  kExtend,  ///< Prompts: the prefill.
  kDecode,  ///< A token of each request.
  kMixed,   ///< Both.
  kVerify,  ///< Tokens that a draft model proposed.
  kDraft,   ///< Of that model.
  kOther,
};
constexpr auto words_of(EngineStepKind) {
  return std::array<std::string_view, 6>{"extend", "decode", "mixed",
                                         "verify", "draft",  "other"};
}

/// What the name of a scope says; -1: it does not.
struct EngineScope {
  EngineStepKind kind = EngineStepKind::kOther;
  std::string_view engine;           ///< "vLLM", "SGLang" or "ATOM".
  std::int64_t batch = -1;           ///< Requests.
  std::int64_t padded_batch = -1;    ///< Those that were computed.
  std::int64_t tokens = -1;          ///< Of all requests: queries.
  std::int64_t context_tokens = -1;  ///< Keys that they attend to.
};

/// Reads a name; none if it is not that of a forward pass. Linear in it.
std::optional<EngineScope> engine_scope_of(std::string_view name);

/// One forward pass. Scopes that nest are one: the outer one, with what the inner say.
struct EngineStep {
  std::uint32_t row = 0;  ///< Its annotation.
  EngineScope scope;
  std::int64_t pid = 0;
  Interval host;  ///< The scope; its device work may end long after.
  /// From its begin to that of the thread's next step; of the last, to the end of its
  /// scope.
  Interval period;
  bool is_last = false;  ///< Of its thread: what follows is not known.
  /// Device work launched in its period (sampling comes after the scope), by start;
  /// what comes after the longest pause behind its scope prepares the next step, and is
  /// that one's.
  std::vector<std::uint32_t> work;
  Interval device;  ///< From the first start to the last end of it.
  std::uint32_t launches = 0, graph_launches = 0;  ///< Calls in its period.

  /// Whether it makes tokens, with or without prompts beside: its period is a wait for
  /// its requests.
  bool generates() const {
    return decodes() || scope.kind == EngineStepKind::kMixed ||
           scope.kind == EngineStepKind::kDraft;
  }
  bool decodes() const {
    return scope.kind == EngineStepKind::kDecode ||
           scope.kind == EngineStepKind::kVerify;
  }
};

/// Lists the steps that have device work in the span, process by process, in order of
/// time. Work is assigned by its launch. O(n log n) in steps, linear in names, launches
/// and work.
std::vector<EngineStep> list_engine_steps(const Timeline& timeline);

/// Launches of graphs, and those that have device work in the trace.
struct GraphCoverage {
  std::size_t launches = 0, with_work = 0;

  /// Whether it is at least half of them; of fewer, replays were lost, and idle time
  /// says nothing.
  bool enough() const { return 2 * with_work >= launches; }
};
GraphCoverage graph_coverage(const Timeline& timeline);

/// What kind of work a device row is, for sums by category.
enum class WorkCategory : std::uint8_t {
  kAttention,
  kProduct,
  kExperts,
  kCollective,
  kNormElementwise,
  kSampling,
  kCopy,
  kOther,
};
constexpr auto words_of(WorkCategory) {
  return std::array<std::string_view, 8>{
      "attention",        "product",  "experts", "collective",
      "norm_elementwise", "sampling", "copy",    "other"};
}
WorkCategory work_category(const Timeline& timeline, std::uint32_t row);

}  // namespace tta::timeline
