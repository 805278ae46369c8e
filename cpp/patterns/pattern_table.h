// SPDX-License-Identifier: BSD-3-Clause
// patterns/pattern_table.h: the patterns of one analysis: the built-in ones, then those
// of the user's own rules.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "patterns/pattern.h"

namespace tta::patterns {

/// The pattern of a claim's or finding's PatternId. It travels with the findings:
/// numbers after the built-in ones mean nothing without it. Cheap to copy.
class PatternTable {
 public:
  PatternTable() : rows_(patterns().begin(), patterns().end()) {}

  /// Adds a pattern without sub-types and returns its number.
  ///
  /// Throws std::invalid_argument if the name is taken, is "unattributed" (what the
  /// balance calls the rest) or is not [a-z][a-z0-9_]*, and if there are 256 already.
  PatternId add(std::string name, PatternSide side, std::string summary,
                std::string advice);

  std::span<const PatternInfo> rows() const { return rows_; }
  std::size_t size() const { return rows_.size(); }
  const PatternInfo& operator[](PatternId id) const {
    return rows_[static_cast<std::size_t>(id)];
  }

 private:
  std::vector<PatternInfo> rows_;  // rows_[i].id == PatternId(i)
  // What the rows of added patterns refer to.
  std::vector<std::shared_ptr<const std::string>> texts_;
};

}  // namespace tta::patterns
