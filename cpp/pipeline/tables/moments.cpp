// SPDX-License-Identifier: BSD-3-Clause
// pipeline/tables/moments.cpp: by category, by name, and by what is around.
#include "pipeline/tables/moments.h"

#include <utility>
#include <vector>

namespace tta::pipeline {
namespace {

using timeline::kNoRow;
using timeline::Name;
using timeline::SpanKind;
using trace::Category;

class Moments {
 public:
  explicit Moments(const timeline::Timeline& t)
      : t_(t),
        c_(t.columns()),
        in_(c_.size(), In::kNothing),
        kind_(c_.size(), SpanKind::kAnnotation) {
    for (const auto* list : {&t.spans.steps, &t.spans.optimizer, &t.spans.loader}) {
      for (const auto& span : *list) kind_[span.row] = span.kind;
    }
  }

  std::vector<In> run() {
    static const std::vector<timeline::HostWait> kNone;
    auto thread = t_.waits.begin();  // by lane
    for (const auto& lane : t_.lanes.threads()) {
      while (thread != t_.waits.end() && thread->lane < lane.id) ++thread;
      const bool waits = thread != t_.waits.end() && thread->lane == lane.id;
      classify(lane, waits ? thread->waits : kNone);
    }
    return std::move(in_);
  }

 private:
  // Parents come before their children.
  void classify(const timeline::Lane& lane,
                const std::vector<timeline::HostWait>& waits) {
    std::size_t wait = 0;
    for (const auto row : t_.lanes.rows_of(lane)) {
      const auto parent = t_.tree.parent[row];
      const auto around = parent == kNoRow ? In::kNothing : in_[parent];
      bool blocks = false;
      if (c_.cat_info(row).runtime_api) {
        while (wait < waits.size() && waits[wait].end <= c_.ts[row]) ++wait;
        blocks = wait < waits.size() && waits[wait].begin <= c_.ts[row];
      }
      in_[row] = around >= In::kLoader ? around : class_of(row, around, blocks);
    }
  }

  In class_of(std::uint32_t row, In around, bool blocks) const {
    const bool working = around == In::kOperator || around == In::kCall;
    if (t_.named(row, Name::kCompiles)) return In::kCompile;
    if (kind_[row] == SpanKind::kLoader) return In::kLoader;
    if (kind_[row] == SpanKind::kStep) return around;
    const auto cat = c_.cat(row);
    if (c_.cat_info(row).runtime_api) {
      // A call inside one that waits is part of the wait.
      if (blocks || around == In::kWaitsForDevice) return In::kWaitsForDevice;
      return around == In::kOperator ? around : In::kCall;
    }
    if (cat == Category::kOverhead) return In::kProfiler;
    if (cat == Category::kCpuOp && kind_[row] == SpanKind::kAnnotation) {
      return t_.named(row, Name::kCollectiveWait) ? In::kCollective : In::kOperator;
    }
    if (cat == Category::kPythonFunction) {
      if (t_.named(row, Name::kWaitMethod) && parent_is_collective(row)) {
        return In::kCollective;
      }
      if (t_.named(row, Name::kWaitsForOthers) || t_.named(row, Name::kSleeps)) {
        return In::kWaits;
      }
    } else if (t_.named(row, Name::kBackend)) {
      return In::kCollective;
    }
    return working ? around : In::kPython;
  }

  bool parent_is_collective(std::uint32_t row) const {
    const auto parent = t_.tree.parent[row];
    return parent != kNoRow && t_.named(parent, Name::kDdpFrame);
  }

  const timeline::Timeline& t_;
  const trace::Columns& c_;
  std::vector<In> in_;
  std::vector<SpanKind> kind_;  // of each row; kAnnotation is any that is not listed
};

}  // namespace

std::vector<In> classify_moments(const timeline::Timeline& t) {
  return Moments(t).run();
}

}  // namespace tta::pipeline
