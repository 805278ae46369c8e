// SPDX-License-Identifier: BSD-3-Clause
// timeline/call_names.cpp: numbers paths of names.
#include "timeline/call_names.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace tta::timeline {
namespace {

// "<built-in method item of Tensor object at 0x7f>": of each object another name.
std::string call_text(std::string_view name) {
  if (!name.starts_with("<built-in method ")) return std::string(name);
  const auto of = name.find(" of ");
  if (of == std::string_view::npos) return std::string(name);
  return std::string(name.substr(0, of)) + ">";
}

}  // namespace

std::uint32_t CallNames::add(std::vector<std::uint32_t> path) {
  std::reverse(path.begin(), path.end());
  path.resize(std::min(path.size(), kMaxCalls));
  const auto [known, fresh] = by_path_.try_emplace(std::move(path), 0);
  if (!fresh) return known->second;
  Calls names;
  for (const auto id : known->first) names.push_back(call_text(strings_.view(id)));
  const auto next = static_cast<std::uint32_t>(calls_.size());
  known->second = by_names_.try_emplace(names, next).first->second;
  if (known->second == next) calls_.push_back(std::move(names));
  return known->second;
}

}  // namespace tta::timeline
