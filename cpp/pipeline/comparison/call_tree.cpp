// SPDX-License-Identifier: BSD-3-Clause
// pipeline/comparison/call_tree.cpp: climbs from each launch to the root, each row
// once.
#include "pipeline/comparison/call_tree.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "pipeline/tables/tables.h"
#include "timeline/gradients.h"
#include "work/operator_calls.h"

namespace tta::pipeline {
namespace {

using timeline::kNoRow;
using trace::Category;

// Calls deeper than this are part of the one above. Models nest some 20 levels of
// modules and operators; recursive functions of a hostile file any number.
constexpr std::uint32_t kDeepest = 64;

constexpr std::string_view kModule = "nn.Module: ";
constexpr std::string_view kGraph = "## Call CompiledFxGraph ";  // and its hash

// Two runs count their modules and ranges differently.
std::string_view without_number(std::string_view name) {
  if (name.starts_with(kGraph)) return kGraph.substr(0, kGraph.size() - 1);
  auto end = name.size();
  while (end > 0 && std::isdigit(static_cast<unsigned char>(name[end - 1])) != 0) --end;
  if (end == name.size() || end < 2) return name;
  const bool divided = std::string_view("_ #:-").find(name[end - 1]) != name.npos;
  return divided ? name.substr(0, end - 1) : name;
}

class Builder {
 public:
  explicit Builder(const Report& report)
      : t_(*report.timeline),
        gradients_(t_),
        node_of_(t_.columns().size(), kNoRow),
        name_ids_(t_.trace->strings.size(), kNoRow),
        operators_(report.operators.get()) {
    if (operators_ != nullptr) {
      for (const auto& calls : operators_->all()) {
        out_.roofline.push_back(make_roofline_row(t_, *operators_, calls));
      }
    }
    for (const auto& step : t_.spans.steps) steps_.insert(step.row);
    out_.nodes.emplace_back().calls = 1;
    first_.push_back(std::numeric_limits<std::int64_t>::min());
    out_.steps = report.steps.size();
    out_.devices = t_.devices.size();
  }

  CallTree make() {
    for (const auto& d : t_.devices) add_device(d);
    for (const auto& [at, one] : known_) out_.nodes[at.first].known.push_back(one);
    for (std::uint32_t i = 1; i < out_.nodes.size(); ++i) {
      out_.nodes[out_.nodes[i].parent].children.push_back(i);
    }
    for (auto& node : out_.nodes) {
      std::ranges::stable_sort(node.children, {}, [&](auto i) { return first_[i]; });
    }
    return std::move(out_);
  }

 private:
  bool is_range(std::uint32_t row) const {
    const auto cat = t_.columns().cat(row);
    if (cat == Category::kPythonFunction) {
      return t_.trace->name(row).starts_with(kModule);
    }
    return cat == Category::kUserAnnotation && !steps_.contains(row);
  }
  bool is_operator(std::uint32_t row) const {
    return t_.columns().cat(row) == Category::kCpuOp && !steps_.contains(row);
  }
  bool runs_node(std::uint32_t row) const {
    return is_operator(row) && t_.columns().sequence[row] >= 0 &&
           t_.named(row, timeline::Name::kBackward);
  }

  // What a row is a part of. Always of an earlier one, or of one that encloses it: the
  // forward operator of a node begins before the node does.
  std::uint32_t above(std::uint32_t row) const {
    const auto parent = t_.tree.parent[row];
    if (!runs_node(row)) return parent;
    const auto& sequence = t_.columns().sequence;
    if (parent != kNoRow && runs_node(parent) && sequence[parent] == sequence[row]) {
      return parent;
    }
    const auto forward = gradients_.forward_of(row);
    if (forward == kNoRow) return parent;
    return t_.tree.innermost(forward, [&](auto at) { return is_range(at); });
  }

  std::uint32_t node_of(std::uint32_t row) {
    climbed_.clear();
    for (; row != kNoRow && node_of_[row] == kNoRow; row = above(row)) {
      climbed_.push_back(row);
    }
    std::uint32_t node = row == kNoRow ? 0 : node_of_[row];
    for (; !climbed_.empty(); climbed_.pop_back()) {
      const auto at = climbed_.back();
      if (is_operator(at) || is_range(at)) node = call(node, at);
      node_of_[at] = node;
    }
    return node;
  }

  std::uint32_t call(std::uint32_t parent, std::uint32_t row) {
    const auto depth = out_.nodes[parent].depth + 1;
    if (depth > kDeepest) return parent;
    auto name = t_.trace->name(row);
    if (is_range(row) || name.starts_with(kGraph)) name = without_number(name);
    const auto next = static_cast<std::uint32_t>(out_.nodes.size());
    const auto [at, is_new] = found_[parent].try_emplace(std::string(name), next);
    const auto ts = t_.columns().ts[row];
    if (is_new) {
      auto& node = out_.nodes.emplace_back();
      node.name = name;
      node.parent = parent;
      node.depth = depth;
      first_.push_back(ts);
    }
    ++out_.nodes[at->second].calls;
    first_[at->second] = std::min(first_[at->second], ts);
    return at->second;
  }

  void add_device(const timeline::DeviceTime& d) {
    const auto& c = t_.columns();
    auto covered = t_.head.begin;  // Work before the span is busy time, too.
    for (const auto row : d.rows) {
      const auto launch = t_.launch_of(row);
      const auto at = launch == kNoRow ? 0 : node_of(launch);
      auto& node = out_.nodes[at];
      const auto end = std::min(c.end(row), t_.span.end);
      node.own_ns += std::max<std::int64_t>(0, end - std::max(c.ts[row], covered));
      covered = std::max(covered, end);
      node.own_work_ns += c.dur[row];
      ++node.own_work;
      const auto name = name_id(c.name[row]);
      add(c.dur[row], node.named[name]);
      if (t_.is_kernel(row)) add(c.dur[row], out_.kernels[name]);
      note_operator(row);
    }
  }

  static void add(std::int64_t ns, NamedWork& to) {
    to.ns += ns;
    ++to.count;
  }

  std::uint32_t name_id(std::uint32_t in_trace) {
    auto& id = name_ids_[in_trace];
    if (id == kNoRow) {
      id = static_cast<std::uint32_t>(out_.names.size());
      out_.names.emplace_back(t_.trace->strings.view(in_trace));
    }
    return id;
  }

  // Work of known operators belongs to the node of the operator, once a call.
  void note_operator(std::uint32_t row) {
    const auto* calls = operators_ == nullptr ? nullptr : operators_->of(row);
    if (calls == nullptr) return;
    const auto op = operators_->operator_of(row);
    if (op == timeline::kNoRow) return;  // Of a graph's replay: no node calls it.
    const auto at = static_cast<std::uint32_t>(calls - operators_->all().data());
    auto& one = known_[{node_of(op), at}];
    one.row = at;
    one.work_ns += t_.columns().dur[row];
    if (seen_.insert(op).second) ++one.calls;
  }

  const timeline::Timeline& t_;
  const timeline::Gradients gradients_;
  std::unordered_set<std::uint32_t> steps_;
  std::vector<std::uint32_t> node_of_;   // of each row that was climbed over
  std::vector<std::uint32_t> name_ids_;  // by those of the trace
  std::vector<std::uint32_t> climbed_;
  std::vector<std::int64_t> first_;  // start of the first call, of each node
  std::unordered_map<std::uint32_t, std::unordered_map<std::string, std::uint32_t>>
      found_;  // children by parent and name
  const work::OperatorTimes* operators_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, KnownWork> known_;
  std::unordered_set<std::uint32_t> seen_;  // operators
  CallTree out_;
};

}  // namespace

CallTree make_call_tree(const Report& report) { return Builder(report).make(); }

}  // namespace tta::pipeline
