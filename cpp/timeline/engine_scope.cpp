// SPDX-License-Identifier: BSD-3-Clause
// timeline/engine_scope.cpp: one reader for each engine's names.
#include "timeline/engine_scope.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace tta::timeline {
namespace {

// The number after the first `key` in a text; -1 if there is none.
std::int64_t number_after(std::string_view text, std::string_view key) {
  const auto at = text.find(key);
  if (at == text.npos) return -1;
  text.remove_prefix(at + key.size());
  std::int64_t out = -1;
  const auto end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, out);
  // Larger numbers are errors, and their sums could overflow.
  constexpr auto kMost = std::int64_t{1} << 40;
  return read.ec == std::errc() && out >= 0 && out <= kMost ? out : -1;
}

std::int64_t sum(std::int64_t a, std::int64_t b) {
  return a < 0 || b < 0 ? std::max(a, b) : a + b;
}

EngineStepKind kind_of(std::int64_t prompts, std::int64_t decoding) {
  if (prompts > 0)
    return decoding > 0 ? EngineStepKind::kMixed : EngineStepKind::kExtend;
  return decoding > 0 ? EngineStepKind::kDecode : EngineStepKind::kOther;
}

// "execute_context_1(888)_generation_4(4)", or "execute_36_context_1(sq32sk40..)_..".
std::optional<EngineScope> of_vllm(std::string_view name) {
  const auto context = name.find("context_"), generation = name.find("_generation_");
  if (context == name.npos || generation == name.npos || generation < context)
    return {};
  const auto first = name.substr(context, generation - context);
  const auto second = name.substr(generation);
  const auto prompts = number_after(first, "context_");
  const auto decoding = number_after(second, "_generation_");
  if (prompts < 0 || decoding < 0) return {};
  EngineScope out;
  out.kind = kind_of(prompts, decoding);
  out.engine = "vLLM";
  out.batch = sum(prompts, decoding);
  const bool in_detail = first.find("(sq") != first.npos;
  const auto* tokens = in_detail ? "(sq" : "(";
  out.tokens = sum(number_after(first, tokens), number_after(second, tokens));
  // Several tokens of each request: those that a draft proposed are verified.
  if (out.kind == EngineStepKind::kDecode && out.tokens > decoding) {
    out.kind = EngineStepKind::kVerify;
  }
  if (in_detail) {
    out.context_tokens = sum(number_after(first, "sk"), number_after(second, "sk"));
  }
  return out;
}

std::optional<EngineScope> of_older_vllm(std::string_view name) {
  const auto fresh = number_after(name, "new_");
  const auto cached = number_after(name, "_cached_");
  if (fresh < 0 || cached < 0) return {};
  EngineScope out;
  out.kind = kind_of(fresh, cached);
  out.engine = "vLLM";
  out.batch = sum(fresh, cached);
  return out;
}

std::optional<EngineScope> of_sglang(std::string_view name) {
  struct Word {
    std::string_view part;
    EngineStepKind kind;
  };
  // "DRAFT_EXTEND" is of the draft, "TARGET_VERIFY" verifies.
  constexpr std::array<Word, 8> kWords = {{{"DRAFT", EngineStepKind::kDraft},
                                           {"VERIFY", EngineStepKind::kVerify},
                                           {"EXTEND", EngineStepKind::kExtend},
                                           {"PREFILL", EngineStepKind::kExtend},
                                           {"DECODE", EngineStepKind::kDecode},
                                           {"MIXED", EngineStepKind::kMixed},
                                           {"IDLE", EngineStepKind::kOther},
                                           {"PREBUILT", EngineStepKind::kOther}}};
  const auto word = name.substr(0, name.find_first_of(" ]"));
  EngineScope out;
  out.engine = "SGLang";
  out.batch = number_after(name, "bs=");
  out.tokens = number_after(name, "toks=");
  for (const auto& [part, kind] : kWords) {
    if (word.find(part) == word.npos) continue;
    out.kind = kind;
    out.goes_on = word.starts_with("DRAFT_EXTEND");
    return out.batch < 0 ? std::nullopt : std::optional(out);
  }
  return {};  // Another program's "step[3]".
}

std::optional<EngineScope> of_atom(std::string_view name, EngineStepKind kind) {
  EngineScope out;
  out.kind = kind;
  out.engine = "ATOM";
  out.batch = number_after(name, "bs=");
  if (out.batch < 0) return {};
  const auto padded = "bs=" + std::to_string(out.batch) + "/";
  out.padded_batch = number_after(name, padded);
  out.tokens = number_after(name, "tok=");
  out.context_tokens = number_after(name, "ctx=");
  return out;
}

// SGLang's ranges around passes of speculation, without their size.
std::optional<EngineScope> of_speculation(std::string_view name) {
  EngineScope out;
  out.engine = "SGLang";
  out.goes_on = name == "draft_extend";
  if (name == "EAGLE_VERIFY") {
    out.kind = EngineStepKind::kVerify;
  } else if (name == "draft" || name == "draft_extend") {
    out.kind = EngineStepKind::kDraft;
  } else {
    return {};
  }
  return out;
}

}  // namespace

std::array<std::int64_t, 2> EngineScope::rows() const {
  if (tokens > 0 && padded_tokens >= tokens) return {tokens, padded_tokens};
  if (batch > 0 && padded_batch >= batch) return {batch, padded_batch};
  return {0, 0};
}

std::optional<EngineScope> engine_scope_of(std::string_view name) {
  const auto after = [&](std::string_view prefix) {
    return name.substr(prefix.size());
  };
  if (name.starts_with("execute_new_")) return of_older_vllm(name);
  if (name.starts_with("execute_")) return of_vllm(name);
  if (name.starts_with("step[")) return of_sglang(after("step["));
  if (name.starts_with("prefill[")) return of_atom(name, EngineStepKind::kExtend);
  if (name.starts_with("decode[")) return of_atom(name, EngineStepKind::kDecode);
  return of_speculation(name);
}

}  // namespace tta::timeline
