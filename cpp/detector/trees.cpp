// SPDX-License-Identifier: BSD-3-Clause
// detector/trees.cpp: checks a forest, and walks it.
#include "detector/trees.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

#include "detector/columns.h"

namespace tta::detector {
namespace {

// Windows that go through the trees together: their rows and the nodes stay near.
constexpr std::size_t kRowsAtOnce = 64;

[[noreturn]] void no_forest(const std::string& what) {
  throw std::invalid_argument("trees: " + what);
}

template <typename T>
void check_each(std::string_view name, const std::vector<T>& values, T least, T most,
                bool infinite = false) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = values[i];
    // Written so that NaN is refused too.
    if ((value >= least && value <= most) ||
        (infinite && !std::isnan(static_cast<float>(value)))) {
      continue;
    }
    no_forest(std::string(name) + "[" + std::to_string(i) + "] is " +
              std::to_string(value) + ", which is not possible");
  }
}

void check_lengths(const Trees& t, std::size_t outputs) {
  const auto trees = t.output.size(), nodes = t.column.size();
  if (nodes > kMostNodes) {
    no_forest(std::to_string(nodes) + " nodes, of at most " +
              std::to_string(kMostNodes));
  }
#define TTA_LENGTH(name, type, count, doc)                                      \
  if (t.name.size() != (count)) {                                               \
    no_forest(#name " has " + std::to_string(t.name.size()) + " values, not " + \
              std::to_string(count));                                           \
  }
  TTA_TREES(TTA_LENGTH)
#undef TTA_LENGTH
}

// Each tree has a node at least, and each node is of one tree.
void check_begins(const Trees& t) {
  const auto nodes = static_cast<std::int64_t>(t.column.size());
  if (t.begin.front() != 0 || t.begin.back() != nodes) {
    no_forest("begin must go from 0 to " + std::to_string(nodes));
  }
  for (std::size_t i = 1; i < t.begin.size(); ++i) {
    if (t.begin[i] <= t.begin[i - 1]) {
      no_forest("begin[" + std::to_string(i) + "] does not rise");
    }
  }
}

void check_ways(const Trees& t, std::size_t tree) {
  const auto first = t.begin[tree], count = t.begin[tree + 1] - first;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(first + i);
    if (t.column[at] < 0) continue;
    for (const auto* const ways : {&t.left, &t.right}) {
      if ((*ways)[at] > i && (*ways)[at] < count) continue;
      no_forest(std::string(ways == &t.left ? "left" : "right") + "[" +
                std::to_string(at) + "] is " + std::to_string((*ways)[at]) +
                ", and must be after " + std::to_string(i) + " and before " +
                std::to_string(count));
    }
  }
}

}  // namespace

void check(const Trees& t, const Tables& tables) {
  bool none = true;
#define TTA_NONE(name, type, count, doc) none = none && t.name.empty();
  TTA_TREES(TTA_NONE)
#undef TTA_NONE
  if (none) return;
  check_lengths(t, tables.outputs());
  check_begins(t);
  const auto columns = static_cast<std::int64_t>(tables.window_columns());
  const auto outputs = static_cast<std::int64_t>(tables.outputs());
  constexpr auto kMost = std::numeric_limits<float>::max();
  check_each<std::int64_t>("output", t.output, 0, outputs - 1);
  check_each<std::int64_t>("column", t.column, -1, columns - 1);
  check_each<std::int64_t>("missing_left", t.missing_left, 0, 1);
  check_each("bound", t.bound, -kMost, kMost, true);
  check_each("value", t.value, -kMost, kMost);
  check_each("base", t.base, -kMost, kMost);
  for (std::size_t i = 0; i < t.output.size(); ++i) check_ways(t, i);
}

Forest::Forest(Trees trees, const Tables& tables)
    : trees_(std::move(trees)),
      columns_(tables.window_columns()),
      outputs_(tables.outputs()) {
  check(trees_, tables);
  nodes_.resize(trees_.column.size());
  for (std::size_t tree = 0; tree < trees_.output.size(); ++tree) {
    const auto first = trees_.begin[tree];
    for (auto i = first; i < trees_.begin[tree + 1]; ++i) {
      const auto at = static_cast<std::size_t>(i);
      auto& node = nodes_[at];
      node.column = static_cast<std::int32_t>(trees_.column[at]);
      node.number = node.column < 0 ? trees_.value[at] : trees_.bound[at];
      if (node.column < 0) continue;
      node.next[0] = static_cast<std::int32_t>(first + trees_.left[at]);
      node.next[1] = static_cast<std::int32_t>(first + trees_.right[at]);
      node.next[2] = node.next[trees_.missing_left[at] == 1 ? 0 : 1];
    }
  }
}

void Forest::add_up(std::span<const float> windows, std::span<float> out) const {
  const auto rows = windows.size() / columns_;
  std::vector<double> sums(out.size());
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = trees_.base[i % outputs_];
  for (std::size_t tree = 0; tree < trees_.output.size(); ++tree) {
    const auto* const root = &nodes_[static_cast<std::size_t>(trees_.begin[tree])];
    const auto output = static_cast<std::size_t>(trees_.output[tree]);
    for (std::size_t i = 0; i < rows; ++i) {
      const auto* const row = &windows[i * columns_];
      const auto* node = root;
      while (node->column >= 0) {
        const auto value = row[node->column];
        const auto way = std::isnan(value) ? 2 : value <= node->number ? 0 : 1;
        node = &nodes_[static_cast<std::size_t>(node->next[way])];
      }
      sums[i * outputs_ + output] += static_cast<double>(node->number);
    }
  }
  constexpr double kMost = std::numeric_limits<float>::max();
  for (std::size_t i = 0; i < sums.size(); ++i) {
    out[i] = static_cast<float>(std::clamp(sums[i], -kMost, kMost));
  }
}

std::vector<float> Forest::raw(std::span<const float> windows, int threads,
                               const Checkpoint& checkpoint) const {
  const auto count = count_rows(windows, columns_);
  std::vector<float> out(count * outputs_);
  if (none()) return out;
  for_each_piece((count + kRowsAtOnce - 1) / kRowsAtOnce, threads,
                 [&](std::size_t piece) {
                   const auto first = piece * kRowsAtOnce;
                   const auto rows = std::min(kRowsAtOnce, count - first);
                   add_up(windows.subspan(first * columns_, rows * columns_),
                          std::span(out).subspan(first * outputs_, rows * outputs_));
                 },
                 checkpoint);
  return out;
}

}  // namespace tta::detector
