// SPDX-License-Identifier: BSD-3-Clause
// timeline/engine_scope.h: annotations of serving engines by their names.
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
//   draft, draft_extend, EAGLE_VERIFY          SGLang around the passes of speculation
//   prefill[bs=2 tok=14721 ctx=..], decode[bs=117/128 tok=117 d=117]   ATOM, padded
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

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
  std::int64_t padded_tokens = -1;   ///< Those that were computed.
  std::int64_t context_tokens = -1;  ///< Keys that they attend to.
  bool goes_on =
      false;  ///< Of a draft model, after the pass before it, not before one.

  /// Rows of the batch with a request, and those that were computed: tokens where both
  /// are known, else requests; zeros if unknown.
  std::array<std::int64_t, 2> rows() const;
};

/// Reads a name; none if it is not that of a forward pass. Linear in it.
std::optional<EngineScope> engine_scope_of(std::string_view name);

}  // namespace tta::timeline
