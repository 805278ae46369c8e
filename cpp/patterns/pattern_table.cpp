// SPDX-License-Identifier: BSD-3-Clause
// patterns/pattern_table.cpp: adds patterns, with names that every form can take.
#include "patterns/pattern_table.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace tta::patterns {
namespace {

bool is_name(std::string_view text) {
  const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return !text.empty() && letter(text.front()) &&
         std::all_of(text.begin(), text.end(), [&](char c) {
           return letter(c) || (c >= '0' && c <= '9') || c == '_';
         });
}

}  // namespace

PatternId PatternTable::add(std::string name, PatternSide side, std::string summary,
                            std::string advice) {
  const auto refuse = [&](const char* why) {
    throw std::invalid_argument("a rule cannot have the name '" + name + "': " + why);
  };
  if (!is_name(name)) {
    refuse("a name starts with a letter and has small letters, digits and _ only");
  }
  if (name == "unattributed") refuse("it is the name of time without a pattern");
  for (const auto& row : rows_) {
    if (row.name == name) refuse("there is a pattern of this name");
  }
  using Number = std::underlying_type_t<PatternId>;
  if (rows_.size() > std::numeric_limits<Number>::max()) refuse("too many rules");
  const auto keep = [this](std::string text) -> std::string_view {
    texts_.push_back(std::make_shared<const std::string>(std::move(text)));
    return *texts_.back();
  };
  const auto id = static_cast<PatternId>(rows_.size());
  const auto kept_name = keep(std::move(name));
  const auto kept_summary = keep(std::move(summary));
  rows_.push_back({.id = id,
                   .name = kept_name,
                   .side = side,
                   .family = PatternFamily::kOther,
                   .fix = Fix::kShorten,
                   .user_finding = true,
                   .estimate = false,
                   .on_host = false,
                   .subtypes = {},
                   .summary = kept_summary,
                   .advice = keep(std::move(advice))});
  return id;
}

}  // namespace tta::patterns
