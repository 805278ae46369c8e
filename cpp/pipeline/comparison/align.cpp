// SPDX-License-Identifier: BSD-3-Clause
// pipeline/comparison/align.cpp: from the root down, both trees at once.
#include "pipeline/comparison/align.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "pipeline/comparison/compared_tree.h"
#include "pipeline/comparison/reasons.h"

namespace tta::pipeline {
namespace {

using Indices = std::vector<std::uint32_t>;

// Below, names say too little. Seen in pairs of public traces: 0.98 and 0.995 for one
// program with other settings, 0.57 for fused against unfused operators, 0.01 to 0.13
// for one program on GPUs of two makers.
constexpr double kSameKernels = 0.8;

// The longest part of `order` that ascends, as indices into it. O(n log n).
Indices longest_ascending(const Indices& order) {
  Indices last, previous(order.size());  // last: the end of the best of each length
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    const auto at = std::ranges::lower_bound(last, order[i], {},
                                             [&](auto index) { return order[index]; });
    if (at != last.begin()) previous[i] = *std::prev(at);
    if (at == last.end()) {
      last.push_back(i);
    } else {
      *at = i;
    }
  }
  Indices out(last.size());
  for (auto i = last.size(), at = i > 0 ? std::size_t{last.back()} : 0; i-- > 0;) {
    out[i] = static_cast<std::uint32_t>(at);
    at = previous[at];
  }
  return out;
}

// Divides times so that the quotients add up to that of the sum.
class Divider {
 public:
  explicit Divider(std::int64_t by) : by_(by) {}
  std::int64_t operator()(std::int64_t ns) {
    const auto before = sum_ / by_;
    sum_ += ns;
    return sum_ / by_ - before;
  }

 private:
  std::int64_t by_, sum_ = 0;
};

struct Row {
  std::vector<std::string> path;
  RowPart before, after;
};

class Aligner {
 public:
  Aligner(const ComparedTree& before, const ComparedTree& after)
      : before_(before), after_(after) {
    align(0, 0);
  }

  std::vector<Row> rows() { return std::move(rows_); }

 private:
  // The depth of the trees is limited (kDeepest in call_tree.cpp).
  void align(std::uint32_t a, std::uint32_t b) {
    const auto& before = before_.node(a);
    const auto& after = after_.node(b);
    const auto matched = match(before.children, after.children);
    const bool is_root = a == 0 && b == 0;
    if (matched.empty() && !is_root) {
      add({{a}, before.parent, false}, {{b}, after.parent, false});
      return;
    }
    if (before.own_work > 0 || after.own_work > 0) {
      RowPart own{{a}, before.parent, true}, other{{b}, after.parent, true};
      if (before.own_work == 0) own.nodes.clear();
      if (after.own_work == 0) other.nodes.clear();
      add(std::move(own), std::move(other));
    }
    if (!is_root) {
      const auto arrow = " -> " + after.name;
      path_.push_back(before.name + (before.name == after.name ? "" : arrow));
    }
    for (const auto& [i, j] : matched) align(before.children[i], after.children[j]);
    align_rest(a, b, matched);
    if (!is_root) path_.pop_back();
  }

  using Matched = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

  // Children of one name: there is one of each under a parent.
  Matched match(const Indices& a, const Indices& b) const {
    std::unordered_map<std::string_view, std::uint32_t> by_name;
    for (std::uint32_t j = 0; j < b.size(); ++j) by_name[after_.node(b[j]).name] = j;
    Matched out;
    for (std::uint32_t i = 0; i < a.size(); ++i) {
      const auto at = by_name.find(before_.node(a[i]).name);
      if (at != by_name.end()) out.emplace_back(i, at->second);
    }
    return out;
  }

  // What has no match, from one match to the next that comes later on both sides.
  void align_rest(std::uint32_t a, std::uint32_t b, const Matched& matched) {
    std::set<std::uint32_t> matched_before, matched_after;
    Indices order;
    for (const auto& [i, j] : matched) {
      matched_before.insert(i);
      matched_after.insert(j);
      order.push_back(j);
    }
    const auto& first = before_.node(a).children;
    const auto& second = after_.node(b).children;
    auto anchors = longest_ascending(order);
    std::uint32_t i = 0, j = 0;
    const auto until = [&](std::uint32_t end_i, std::uint32_t end_j) {
      RowPart before{{}, a, false}, after{{}, b, false};
      for (; i < end_i; ++i) {
        if (!matched_before.contains(i)) before.nodes.push_back(first[i]);
      }
      for (; j < end_j; ++j) {
        if (!matched_after.contains(j)) after.nodes.push_back(second[j]);
      }
      add_between(std::move(before), std::move(after), !matched.empty());
    };
    for (const auto anchor : anchors)
      until(matched[anchor].first, matched[anchor].second);
    until(static_cast<std::uint32_t>(first.size()),
          static_cast<std::uint32_t>(second.size()));
  }

  void add_between(RowPart before, RowPart after, bool are_alike) {
    if (are_alike && before.nodes.size() == 1 && after.nodes.size() == 1) {
      align(before.nodes[0], after.nodes[0]);
    } else if (are_alike && !before.nodes.empty() && !after.nodes.empty()) {
      add(std::move(before), std::move(after));
    } else {
      for (const auto node : before.nodes) add({{node}, before.parent, false}, {});
      for (const auto node : after.nodes) add({}, {{node}, after.parent, false});
    }
  }

  void add(RowPart before, RowPart after) {
    rows_.push_back({path_, std::move(before), std::move(after)});
  }

  const ComparedTree& before_;
  const ComparedTree& after_;
  std::vector<std::string> path_;
  std::vector<Row> rows_;
};

std::optional<double> same_kernels(const CallTree& before, const CallTree& after) {
  std::unordered_map<std::string_view, double> of_before;
  double all = 0, same = 0;
  for (const auto& [name, work] : before.kernels) {
    const auto ns = static_cast<double>(work.ns);
    of_before[before.names[name]] = ns;
    all += ns;
  }
  for (const auto& [name, work] : after.kernels) {
    const auto ns = static_cast<double>(work.ns);
    all += ns;
    const auto at = of_before.find(after.names[name]);
    if (at != of_before.end()) same += ns + at->second;
  }
  return all > 0 ? std::optional(same / all) : std::nullopt;
}

AlignedSide side_of(const RowFigures& figures, std::string name) {
  AlignedSide out;
  out.name = std::move(name);
  out.calls = figures.calls;
  out.work = figures.work;
  out.device_ns = figures.device_ns;
  if (figures.work_ns > 0 && figures.known_ns >= kKnownShare * figures.work_ns) {
    out.flops = figures.flops;
  }
  if (figures.work_ns > 0 && figures.judged_ns >= kKnownShare * figures.work_ns) {
    out.efficiency = figures.roofline_us * 1000 / figures.judged_ns;
  }
  if (figures.main != nullptr) {
    out.inputs = figures.main->inputs;
    out.data_type = figures.main->data_type;
  }
  out.kernel = figures.kernel;
  return out;
}

}  // namespace

Alignment align(const CallTree& before, const CallTree& after) {
  Alignment out;
  out.per_step = before.steps > 0 && after.steps > 0;
  out.same_kernels = same_kernels(before, after);
  out.kernels_differ = out.same_kernels && *out.same_kernels < kSameKernels;
  const ComparedTree was(before, out.per_step), now(after, out.per_step);
  struct Found {
    Row row;
    RowFigures before, after;
    double difference = 0;
  };
  std::vector<Found> found;
  for (auto& row : Aligner(was, now).rows()) {
    Found one{std::move(row), {}, {}, 0};
    one.before = was.figures(one.row.before);
    one.after = now.figures(one.row.after);
    one.difference =
        static_cast<double>(one.after.device_ns) / static_cast<double>(now.units()) -
        static_cast<double>(one.before.device_ns) / static_cast<double>(was.units());
    found.push_back(std::move(one));
  }
  const auto order = [](const Found& one) {
    return std::pair(std::abs(one.difference),
                     one.before.device_ns + one.after.device_ns);
  };
  std::ranges::stable_sort(found, std::ranges::greater{}, order);
  Divider of_before(static_cast<std::int64_t>(was.units()));
  Divider of_after(static_cast<std::int64_t>(now.units()));
  for (auto& one : found) {
    one.before.device_ns = of_before(one.before.device_ns);
    one.after.device_ns = of_after(one.after.device_ns);
    AlignedOperator row;
    row.path = std::move(one.row.path);
    const bool is_before = !one.row.before.nodes.empty();
    const bool is_after = !one.row.after.nodes.empty();
    if (is_before) row.before = side_of(one.before, was.name(one.row.before));
    if (is_after) row.after = side_of(one.after, now.name(one.row.after));
    row.difference_ns = one.after.device_ns - one.before.device_ns;
    const auto most = std::max(one.before.device_ns, one.after.device_ns);
    if (is_before && is_after &&
        static_cast<double>(std::abs(row.difference_ns)) >
            kSameShare * static_cast<double>(most)) {
      const bool grew = row.difference_ns > 0;
      row.slower = grew ? Slower::kAfter : Slower::kBefore;
      row.because =
          grew ? reasons_of(one.after, one.before) : reasons_of(one.before, one.after);
    }
    out.before_ns += one.before.device_ns;
    out.after_ns += one.after.device_ns;
    out.rows.push_back(std::move(row));
  }
  return out;
}

}  // namespace tta::pipeline
