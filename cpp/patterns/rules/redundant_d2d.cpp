// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/redundant_d2d.cpp: the device copies or converts what it already has.
//
// Copies inside a device, and the kernels of the copy operators (copy_, _to_copy,
// clone, contiguous): casts where the types of source and destination differ, changes
// of layout where their strides do, else plain copies. Without input types
// (record_shapes=False) the kernel's name tells; where it does not, the rule is silent.
// What is part of another operator (repeat) or of a collective is not counted. The cost
// is time with nothing beside it; on the CPU alone, that of casts on the main thread.
#include <algorithm>
#include <array>
#include <optional>

#include "patterns/marks.h"

namespace tta::patterns {
namespace {

enum : std::size_t { kMinShare, kMinBusy };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.01, "share", "a hundredth of the time is worth a line"},
    Threshold{"min_busy", 0.05, "share",
              "of the busy time: TraceLens reports copies from 5 % of it on; training "
              "in mixed precision casts 1-4 % of its time without harm"},
};

using trace::Category;

enum : std::uint8_t { kCast, kLayout, kCopy };

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool copies_only(std::string_view name) {
  return name == "aten::copy_" || name == "aten::_to_copy" || name == "aten::clone" ||
         name == "aten::contiguous";
}

// Whether a copy operator is no part of another operator's work.
bool is_own_purpose(const timeline::Timeline& t, std::uint32_t owner) {
  const auto name = t.trace->name(owner);
  if (!copies_only(name)) return false;
  const auto parent = t.tree.parent[owner];
  if (name != "aten::copy_" || parent == kNoRow ||
      t.columns().cat(parent) != Category::kCpuOp) {
    return true;
  }
  const auto above = t.trace->name(parent);
  if (copies_only(above)) return true;
  return !above.starts_with("aten::") && !above.starts_with("c10d::") &&
         !above.starts_with("nccl:") && above != "record_param_comms";
}

// By the first two inputs of copy_: destination and source.
std::optional<std::uint8_t> kind_by_inputs(const timeline::OpArgs* op) {
  if (op == nullptr || op->types.size() < 2) return std::nullopt;
  const auto to = timeline::element_bytes(op->types[0]);
  if (std::min(to, timeline::element_bytes(op->types[1])) < 0) return std::nullopt;
  if (op->types[0] != op->types[1]) return kCast;
  // torch copies equal layouts by a memcpy; strides, if known, may say otherwise.
  const bool same = op->strides.size() >= 2 && !op->strides[0].empty() &&
                    op->strides[0] == op->strides[1];
  return same ? kCopy : kLayout;
}

// By torch's names of its copy kernels.
std::optional<std::uint8_t> kind_by_name(std::string_view kernel) {
  for (const auto* cast : {"WithCast", "float16_copy_kernel", "float8_copy_kernel"}) {
    if (contains(kernel, cast)) return kCast;
  }
  if (contains(kernel, "nocast") && contains(kernel, "copy_kernel")) return kLayout;
  return std::nullopt;
}

std::optional<std::uint8_t> kind_of(const Context& context, std::uint32_t row) {
  const auto& t = context.timeline;
  const auto cat = t.columns().cat(row);
  const auto name = t.trace->name(row);
  const bool memcpy = cat == Category::kGpuMemcpy;
  if (memcpy ? !contains(name, "DtoD") && !contains(name, "DeviceToDevice")
             : cat != Category::kKernel) {
    return std::nullopt;
  }
  const auto owner = t.owner_of(row);
  if (owner == kNoRow) {
    // Of a memcpy no more need be known, but that no collective sent it.
    const auto launch = t.launch_of(row);
    const bool known = launch != kNoRow && t.tree.parent[launch] != kNoRow;
    return memcpy && !known ? std::optional<std::uint8_t>(kCopy) : std::nullopt;
  }
  if (!is_own_purpose(t, owner)) return std::nullopt;
  if (memcpy) return kCopy;
  if (const auto kind = kind_by_inputs(context.args.op(owner))) return kind;
  return kind_by_name(name);
}

void propose_for(const Context& context, std::size_t i, std::vector<Claim>& claims) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  const auto& d = t.devices[i];
  std::vector<std::pair<std::uint32_t, std::uint8_t>> copies;
  std::vector<Interval> rest;
  for (const auto row : d.rows) {
    if (const auto kind = kind_of(context, row)) {
      copies.emplace_back(row, *kind);
    } else {
      rest.push_back({c.ts[row], c.end(row)});
    }
  }
  const auto others = timeline::unite(std::move(rest));
  std::vector<Claim> own;
  std::int64_t reached = t.span.begin, cost = 0;
  for (const auto& [row, kind] : copies) {
    const Interval time{std::max(c.ts[row], reached), c.end(row)};
    if (time.length() == 0) continue;
    reached = time.end;
    for (const auto& part : timeline::subtract({time}, timeline::clip(others, time))) {
      for (const auto& left : context.ledger.busy(i, part)) {
        own.push_back({PatternId::kRedundantD2d, kind, false, d.device, left.begin,
                       left.end, row});
        cost += left.length();
      }
    }
  }
  if (static_cast<double>(cost) <
      context.limits[kMinBusy] * static_cast<double>(d.busy_ns)) {
    return;
  }
  claims.insert(claims.end(), own.begin(), own.end());
}

// The outermost operator of a cast: aten::to around _to_copy around copy_.
std::uint32_t outermost_cast(const timeline::Timeline& t, std::uint32_t row) {
  const auto& c = t.columns();
  auto outer = row;
  for (int level = 0; level < 2; ++level) {
    const auto at = t.tree.parent[outer];
    if (at == kNoRow || c.cat(at) != Category::kCpuOp) break;
    const auto name = t.trace->name(at);
    if (name != "aten::to" && name != "aten::_to_copy") break;
    outer = at;
  }
  return outer;
}

std::vector<Claim> propose_on_host(const Context& context) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  std::vector<Mark> marks;
  std::int64_t cost = 0;
  for (const auto& lane : t.lanes.lanes) {
    if (lane.is_stream || lane.pid != t.host->pid) continue;
    for (const auto row : t.lanes.rows_of(lane)) {
      if (c.cat(row) != Category::kCpuOp || t.trace->name(row) != "aten::copy_" ||
          kind_by_inputs(context.args.op(row)) != kCast) {
        continue;
      }
      const auto outer = outermost_cast(t, row);
      if (outer != row) marks.push_back({{c.ts[outer], c.end(outer)}, outer, kCast});
    }
  }
  auto claims = claim_marks(context, PatternId::kRedundantD2d, std::move(marks));
  for (const auto& claim : claims) cost += claim.end - claim.begin;
  if (static_cast<double>(cost) <
      context.limits[kMinBusy] * static_cast<double>(timeline::total(t.host->busy))) {
    claims.clear();
  }
  return claims;
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  if (t.host) return propose_on_host(context);
  std::vector<Claim> claims;
  for (std::size_t i = 0; i < t.devices.size(); ++i) propose_for(context, i, claims);
  return claims;
}

std::string describe(const Context& context, const Finding& f) {
  if (context.timeline.host) {
    return count_text(f.count, "conversion", "conversions") +
           " of tensors to another dtype took " + duration_text(f.wasted_ns) +
           " of the main thread's time.";
  }
  const auto what =
      f.subtype == kCast ? count_text(f.count, "cast", "casts") + " to another dtype"
      : f.subtype == kLayout
          ? count_text(f.count, "copy", "copies") + " to another memory layout"
          : count_text(f.count, "plain copy", "plain copies");
  return what + " inside " + devices_text(f, false) + " took " +
         duration_text(f.wasted_ns) + " with no other work beside.";
}

}  // namespace

const Rule kRedundantD2dRule{PatternId::kRedundantD2d, kThresholds, propose, describe};

}  // namespace tta::patterns
