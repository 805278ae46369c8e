// SPDX-License-Identifier: BSD-3-Clause
// timeline/by_name.h: questions about an event's name, asked once a name.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string_view>
#include <vector>

#include "trace/trace.h"

namespace tta::timeline {

/// Tells whether a name has this part, letter for letter.
inline bool contains(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

/// The same of any of some parts, which may be written in braces.
template <typename Parts = std::initializer_list<std::string_view>>
bool contains_any(std::string_view name, const Parts& parts) {
  return std::any_of(std::begin(parts), std::end(parts),
                     [&](std::string_view part) { return contains(name, part); });
}

/// Remembers what `Test`, bool(std::string_view), says of each name: thousands of rows
/// share one. Refers to the trace. Not for several threads.
template <auto Test>
class ByName {
 public:
  explicit ByName(const trace::Trace& trace)
      : trace_(trace), known_(trace.strings.size(), kUnknown) {}

  bool operator()(std::uint32_t row) {
    auto& known = known_[trace_.columns.name[row]];
    if (known == kUnknown) known = Test(trace_.name(row)) ? kYes : kNo;
    return known == kYes;
  }

 private:
  enum : char { kUnknown, kNo, kYes };
  const trace::Trace& trace_;
  std::vector<char> known_;
};

}  // namespace tta::timeline
