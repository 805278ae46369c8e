// SPDX-License-Identifier: BSD-3-Clause
// pipeline/tables/moments.cpp: by category, by name, and by what is around.
#include "pipeline/tables/moments.h"

#include <algorithm>
#include <string_view>

#include "patterns/loading_names.h"
#include "patterns/python_time.h"

namespace tta::pipeline {
namespace {

using timeline::kNoRow;
using timeline::SpanKind;
using trace::Category;

// What a name alone tells, of whatever category.
enum class Named : std::uint8_t {
  kNothing,
  kCompile,
  kBackend,       // a range of gloo, MPI or UCC on its own thread
  kWaitOperator,  // of a functional collective
  kWaitMethod,    // a builtin called "wait": a collective's, or a condition's
  kWaiting,       // any other builtin that waits
};

Named named(std::string_view name) {
  if (patterns::says(name) == patterns::Says::kCompiles) return Named::kCompile;
  if (name.starts_with("gloo:") || name.starts_with("mpi:") ||
      name.starts_with("ucc:")) {
    return Named::kBackend;
  }
  if (name.ends_with("c10d_functional::wait_tensor")) return Named::kWaitOperator;
  if (name.starts_with("<built-in method wait of ")) return Named::kWaitMethod;
  if (patterns::waits_for_others(name) || name == "<built-in function sleep>") {
    return Named::kWaiting;
  }
  return Named::kNothing;
}

class Moments {
 public:
  explicit Moments(const timeline::Timeline& t)
      : t_(t),
        c_(t.columns()),
        in_(c_.size(), In::kNothing),
        kind_(c_.size(), SpanKind::kAnnotation) {
    for (std::uint32_t id = 0; id < t.trace->strings.size(); ++id) {
      names_.push_back(named(t.trace->strings.view(id)));
    }
    for (const auto* list : {&t.spans.steps, &t.spans.optimizer, &t.spans.loader}) {
      for (const auto& span : *list) kind_[span.row] = span.kind;
    }
  }

  std::vector<In> run() {
    static const std::vector<timeline::HostWait> kNone;
    auto thread = t_.waits.begin();  // by lane
    for (std::uint32_t lane = 0; lane < t_.lanes.lanes.size(); ++lane) {
      if (t_.lanes.lanes[lane].is_stream) continue;
      while (thread != t_.waits.end() && thread->lane < lane) ++thread;
      const bool waits = thread != t_.waits.end() && thread->lane == lane;
      classify(lane, waits ? thread->waits : kNone);
    }
    return std::move(in_);
  }

 private:
  // Parents come before their children.
  void classify(std::uint32_t lane, const std::vector<timeline::HostWait>& waits) {
    std::size_t wait = 0;
    for (const auto row : t_.lanes.rows_of(t_.lanes.lanes[lane])) {
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
    const auto name = names_[c_.name[row]];
    const bool working = around == In::kOperator || around == In::kCall;
    if (name == Named::kCompile) return In::kCompile;
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
      return name == Named::kWaitOperator ? In::kCollective : In::kOperator;
    }
    if (cat == Category::kPythonFunction) {
      if (name == Named::kWaitMethod && parent_is_collective(row)) {
        return In::kCollective;
      }
      if (name == Named::kWaitMethod || name == Named::kWaiting) return In::kWaits;
    } else if (name == Named::kBackend) {
      return In::kCollective;
    }
    return working ? around : In::kPython;
  }

  bool parent_is_collective(std::uint32_t row) const {
    const auto parent = t_.tree.parent[row];
    return parent != kNoRow &&
           t_.trace->name(parent).starts_with("torch/distributed/distributed_c10d.py(");
  }

  const timeline::Timeline& t_;
  const trace::Columns& c_;
  std::vector<In> in_;
  std::vector<SpanKind> kind_;  // of each row; kAnnotation is any that is not listed
  std::vector<Named> names_;    // by the id of a name
};

}  // namespace

std::vector<In> classify_moments(const timeline::Timeline& t) {
  return Moments(t).run();
}

}  // namespace tta::pipeline
