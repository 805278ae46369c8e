// SPDX-License-Identifier: BSD-3-Clause
// trace/pftrace/values.cpp: numbers, texts, and args that show the kind of an event.
#include "trace/pftrace/values.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "trace/args.h"
#include "trace/json_out.h"
#include "trace/members.h"
#include "trace/pftrace/decoder.h"
#include "trace/pftrace/fields.h"

namespace tta::trace::pftrace {

std::string json_number(double value) {
  if (!std::isfinite(value)) return "null";
  std::array<char, 32> text;
  const auto done = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), done.ptr};
}

std::string json_or_string(std::string_view text) {
  // One value, and not more members behind it.
  const bool is_one = value_length(text) == text.size() && !text.empty() &&
                      is_members("\"v\":" + std::string(text));
  return is_one ? std::string(text) : json_string(text);
}

std::string number_or_string(std::string_view text) {
  std::int64_t value = 0;
  const auto* const end = text.data() + text.size();
  const auto done = std::from_chars(text.data(), end, value);
  return done.ec == std::errc{} && done.ptr == end ? std::to_string(value)
                                                   : json_string(text);
}

std::uint32_t hints_of(std::string_view key) {
  constexpr std::array kKeys = {
      std::pair<std::string_view, Hint>{"Python id", Hint::kPythonId},
      std::pair<std::string_view, Hint>{"cuda_sync_kind", Hint::kSyncKind},
      std::pair<std::string_view, Hint>{"cbid", Hint::kCallId},
      std::pair<std::string_view, Hint>{"grid", Hint::kGrid},
      std::pair<std::string_view, Hint>{"correlation", Hint::kCorrelation},
      std::pair<std::string_view, Hint>{"External id", Hint::kOperator},
      std::pair<std::string_view, Hint>{"Ev Idx", Hint::kOperator},
  };
  for (const auto& [name, hint] : kKeys) {
    if (key == name) return std::uint32_t{1} << static_cast<int>(hint);
  }
  return 0;
}

void add_specs(std::string_view bytes, std::map<std::uint64_t, std::string>& names) {
  each_field<GpuSpecs>(bytes, [&](GpuSpecs field, const Value& spec) {
    if (field != GpuSpecs::kSpec) return;
    std::uint64_t id = 0;
    std::string name;
    each_field<InternedText>(spec.content, [&](InternedText part, const Value& value) {
      if (part == InternedText::kId) id = value.number;
      if (part == InternedText::kText) name = value.text();
    });
    names[id] = std::move(name);
  });
}

}  // namespace tta::trace::pftrace
