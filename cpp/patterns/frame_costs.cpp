// SPDX-License-Identifier: BSD-3-Clause
// patterns/frame_costs.cpp: adds time up along the frames around it, and along those
// below a finding's line.
#include "patterns/frame_costs.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "patterns/facts.h"
#include "timeline/cursor.h"

namespace tta::patterns {
namespace {

using timeline::Cursor;
using timeline::FileOwner;
using timeline::Frame;
using trace::Category;

bool is_of(std::string_view frame, timeline::FileOwner least) {
  if (least == timeline::FileOwner::kTorch) return true;
  const auto parsed = timeline::parse_frame(frame);
  return parsed && timeline::owner_of_file(parsed->file) >= least;
}

// The frames that stretches fell into and all above them, as a tree: thousands of
// stretches share the frames of a program, and what fell into a frame is summed up once
// instead of climbed with each.
class FrameTree {
 public:
  /// What of the cost fell into frames of one name.
  struct Cost {
    std::uint32_t row = 0;  // the first of them
    int depth = 0;          // of that
    std::int64_t ns = 0;
    int open = 0;  // such frames around the place of the walk
  };

  FrameTree(const timeline::Timeline& t, bool inside)
      : t_(t), c_(t.columns()), inside_(inside) {}

  void add(const PythonStretch& stretch) {
    std::vector<std::uint32_t> fresh;  // frames, innermost first
    auto row = stretch.frame;
    if (c_.cat(row) != Category::kPythonFunction) row = inside_ ? kNoRow : above(row);
    if (row == kNoRow) return;
    const auto innermost = row;
    for (; row != kNoRow && !node_of_.contains(row); row = above(row)) {
      fresh.push_back(row);
    }
    auto parent = row == kNoRow ? kNone : node_of_.at(row);
    auto depth =
        static_cast<int>(fresh.size()) + (parent == kNone ? 0 : nodes_[parent].depth);
    for (const auto frame : fresh) {
      const auto next = static_cast<std::uint32_t>(costs_.size());
      if (by_name_.try_emplace(c_.name[frame], next).second) {
        costs_.push_back({frame, depth});
      }
      --depth;
    }
    for (auto frame = fresh.rbegin(); frame != fresh.rend(); ++frame) {
      const auto node = static_cast<std::uint32_t>(nodes_.size());
      nodes_.push_back({by_name_.at(c_.name[*frame]), parent});
      auto& first = parent == kNone ? root_ : nodes_[parent].child;
      nodes_[node].depth = parent == kNone ? 1 : nodes_[parent].depth + 1;
      nodes_[node].sibling = first;
      first = node;
      node_of_[*frame] = node;
      parent = node;
    }
    nodes_[node_of_[innermost]].ns += stretch.time.length();
  }

  /// Sums up, once; of each name, in the order in which they were met.
  const std::vector<Cost>& costs() {
    for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
      if (node->parent != kNone) nodes_[node->parent].ns += node->ns;
    }
    // Frames of a name that is around them already are a recursion, counted above.
    for (auto at = root_; at != kNone;) {
      auto& cost = costs_[nodes_[at].cost];
      if (cost.open++ == 0) cost.ns += nodes_[at].ns;
      if (nodes_[at].child != kNone) {
        at = nodes_[at].child;
        continue;
      }
      --cost.open;
      while (at != kNone && nodes_[at].sibling == kNone) {
        at = nodes_[at].parent;
        if (at != kNone) --costs_[nodes_[at].cost].open;
      }
      if (at != kNone) at = nodes_[at].sibling;
    }
    return costs_;
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  struct Node {  // parents before their children
    std::uint32_t cost = 0, parent = kNone, child = kNone, sibling = kNone;
    int depth = 0;
    std::int64_t ns = 0;
  };

  std::uint32_t above(std::uint32_t row) const {
    row = t_.tree.parent[row];
    while (row != kNoRow && c_.cat(row) != Category::kPythonFunction) {
      if (inside_) return kNoRow;
      row = t_.tree.parent[row];
    }
    return row;
  }

  const timeline::Timeline& t_;
  const trace::Columns& c_;
  bool inside_;
  std::unordered_map<std::uint32_t, std::uint32_t> node_of_;  // of rows
  std::vector<Node> nodes_;
  std::uint32_t root_ = kNone;  // the last of those without a parent
  std::vector<Cost> costs_;
  std::unordered_map<std::uint32_t, std::uint32_t> by_name_;  // into costs_
};

// Marks the rows that are an operator or a runtime call, or hold one.
const std::vector<char>& working_rows(const Context& context) {
  auto& known = context.facts.working;
  if (known) return *known;
  const auto& t = context.timeline;
  const auto& c = t.columns();
  auto& works = known.emplace(c.size(), 0);
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (t.is_work(row)) t.tree.mark_around(row, works);
  }
  return works;
}

// A function is named in place of its caller if four fifths of the time are in it: what
// is left is within the quarter that is not counted on of a gain
// (pipeline/pricing/price.h).
constexpr double kBulk = 0.80;

// When each Python frame inside a mark was the innermost; the mark where none was.
std::vector<PythonStretch> inside(const timeline::Timeline& t, std::uint32_t mark) {
  const auto& c = t.columns();
  std::vector<PythonStretch> out;
  const Interval time{c.ts[mark], t.tree.end(c, mark)};
  Cursor(t, t.lanes.lane[mark]).sweep(time, [&](Interval part, std::uint32_t row) {
    // Frames that outlast the mark are around it.
    const auto frame = t.tree.innermost(row, [&](auto at) {
      return at == mark || c.ts[at] < time.begin ||
             (c.cat(at) == Category::kPythonFunction && t.tree.end(c, at) <= time.end);
    });
    const bool is_inside = frame != kNoRow && c.ts[frame] >= time.begin;
    out.push_back({part, is_inside ? frame : mark});
  });
  return out;
}

std::vector<PythonStretch> stretches_of(const timeline::Timeline& t, const Finding& f) {
  const auto& c = t.columns();
  std::vector<PythonStretch> out;
  std::map<std::uint32_t, std::map<std::int32_t, timeline::IntervalSet>> marks;
  for (const auto& claim : f.claims) {
    const auto row = t.lanes.on_stream(claim.evidence) ? t.launch_of(claim.evidence)
                                                       : claim.evidence;
    if (row == kNoRow || t.lanes.lane[row] == timeline::kNoLane) continue;
    if (c.cat(row) == Category::kUserAnnotation) {
      marks[row][claim.device].push_back({claim.begin, claim.end});
    } else {
      out.push_back({{claim.begin, claim.end}, row});
    }
  }
  for (const auto& [mark, devices] : marks) {
    const auto frames = inside(t, mark);
    for (const auto& [device, times] : devices) {
      for (const auto& stretch : frames) {
        const auto ns = timeline::total(timeline::clip(times, stretch.time));
        if (ns > 0) out.push_back({{0, ns}, stretch.frame});
      }
    }
  }
  return out;
}

bool is_below(const timeline::Timeline& t, std::uint32_t row, const Frame& frame) {
  for (const auto at : t.tree.above(row)) {
    const auto own = timeline::parse_frame(t.trace->name(at));
    if (own && own->file == frame.file && own->line == frame.line &&
        own->function == frame.function) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::optional<FrameCost> deepest_of_most(const timeline::Timeline& t,
                                         std::span<const PythonStretch> stretches,
                                         std::int64_t of, bool inside,
                                         timeline::FileOwner least, double share) {
  FrameTree tree(t, inside);
  for (const auto& stretch : stretches) tree.add(stretch);
  const FrameTree::Cost* best = nullptr;
  for (const auto& cost : tree.costs()) {
    const auto ns = static_cast<double>(cost.ns);
    if (ns <= share * static_cast<double>(of) || !is_of(t.trace->name(cost.row), least))
      continue;
    if (best == nullptr || cost.depth > best->depth ||
        (cost.depth == best->depth && cost.ns > best->ns)) {
      best = &cost;
    }
  }
  if (best == nullptr) return std::nullopt;
  return FrameCost{best->row, best->ns};
}

std::optional<FrameCost> costliest_call(const Context& context,
                                        std::span<const PythonStretch> stretches) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  const auto& works = working_rows(context);
  std::unordered_map<std::uint32_t, FrameCost> costs;  // by name
  for (const auto& stretch : stretches) {
    auto top = stretch.frame;
    for (const auto at : t.tree.above(top)) {
      if (works[at] || c.cat(at) != Category::kPythonFunction) break;
      top = at;
    }
    costs.try_emplace(c.name[top], FrameCost{top, 0}).first->second.ns +=
        stretch.time.length();
  }
  std::optional<FrameCost> best;
  for (const auto& [name, cost] : costs) {
    if (!best || cost.ns > best->ns || (cost.ns == best->ns && cost.row < best->row)) {
      best = cost;
    }
  }
  return best;
}

std::optional<Frame> deepest_below(const timeline::Timeline& t, const Finding& f) {
  if (!f.location || f.location->line_of == timeline::LineOf::kCall) return {};
  const auto stretches = stretches_of(t, f);
  for (const auto owner : {FileOwner::kUser, FileOwner::kPackage}) {
    const auto most = deepest_of_most(t, stretches, f.wasted_ns, false, owner, kBulk);
    if (!most || !is_below(t, most->row, *f.location)) continue;
    return timeline::parse_frame(t.trace->name(most->row));
  }
  return {};
}

}  // namespace tta::patterns
