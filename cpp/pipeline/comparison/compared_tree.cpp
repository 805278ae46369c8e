// SPDX-License-Identifier: BSD-3-Clause
// pipeline/comparison/compared_tree.cpp: sums over the nodes of a part.
#include "pipeline/comparison/compared_tree.h"

#include <map>

namespace tta::pipeline {
namespace {

constexpr std::size_t kNames = 4;  // of operators in one text

}  // namespace

RowFigures ComparedTree::figures(const RowPart& part) const {
  RowFigures out;
  out.calls = static_cast<double>(calls_of(part));
  WorkByName named;
  std::map<std::uint32_t, std::int64_t> main;
  auto open = part.nodes;
  while (!open.empty()) {
    const auto& n = node(open.back());
    open.pop_back();
    if (!part.only_own) open.insert(open.end(), n.children.begin(), n.children.end());
    if (n.own_work > 0) ++out.operators;
    out.device_ns += n.own_ns;
    out.work += static_cast<double>(n.own_work);
    out.work_ns += static_cast<double>(n.own_work_ns);
    for (const auto& [name, work] : n.named) {
      named[name].ns += work.ns;
      named[name].count += work.count;
    }
    for (const auto& known : n.known) {
      add(known, out);
      main[known.row] += known.work_ns;
    }
  }
  const auto ns = [](const auto& entry) { return entry.second.ns; };
  if (const auto at = std::ranges::max_element(named, {}, ns); at != named.end()) {
    out.kernel = tree_.names[at->first];
    out.is_kernel = tree_.kernels.contains(at->first);
    out.kernel_ns = static_cast<double>(at->second.ns);
    out.kernels = static_cast<double>(at->second.count);
  }
  const auto cost = [](const auto& entry) { return entry.second; };
  if (const auto at = std::ranges::max_element(main, {}, cost); at != main.end()) {
    out.main = &tree_.roofline[at->first];
    out.main_ns = static_cast<double>(at->second);
  }
  const auto units = static_cast<double>(units_);
  for (auto* figure :
       {&out.calls, &out.work, &out.work_ns, &out.flops, &out.bytes, &out.known_ns,
        &out.roofline_us, &out.judged_ns, &out.kernel_ns, &out.kernels, &out.main_ns}) {
    *figure /= units;
  }
  return out;
}

std::string ComparedTree::name(const RowPart& part) const {
  if (part.nodes.size() == 1) return node(part.nodes[0]).name;
  std::string out;
  const auto calls = std::max<std::uint64_t>(1, calls_of(part));
  for (std::size_t i = 0; i < std::min(kNames, part.nodes.size()); ++i) {
    const auto& n = node(part.nodes[i]);
    const auto times = (n.calls + calls / 2) / calls;
    out += (i > 0 ? " + " : "") + n.name;
    if (times > 1) out += " ×" + std::to_string(times);
  }
  if (part.nodes.size() > kNames) {
    out += " + " + std::to_string(part.nodes.size() - kNames) + " more";
  }
  return out;
}

std::uint64_t ComparedTree::calls_of(const RowPart& part) const {
  if (part.nodes.size() == 1 && part.nodes[0] != 0) return node(part.nodes[0]).calls;
  return part.parent == 0 ? std::max<std::uint64_t>(1, tree_.steps)
                          : node(part.parent).calls;
}

void ComparedTree::add(const KnownWork& known, RowFigures& out) const {
  const auto& row = tree_.roofline[known.row];
  const auto calls = static_cast<double>(known.calls);
  const auto ns = static_cast<double>(known.work_ns);
  out.flops += row.flops * calls;
  out.bytes += row.bytes * calls;
  out.known_ns += ns;
  if (!row.efficiency) return;
  out.roofline_us += *row.roofline_us * calls / static_cast<double>(row.count);
  out.judged_ns += ns;
}

}  // namespace tta::pipeline
