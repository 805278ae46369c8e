// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/redundant_d2d/device_copies.cpp: tells copies inside a device by
// inputs, kernel and place.
#include "patterns/rules/redundant_d2d/device_copies.h"

#include <algorithm>
#include <string_view>

#include "timeline/by_name.h"
#include "timeline/copy_direction.h"

namespace tta::patterns {
namespace {

using timeline::contains;
using timeline::contains_any;
using trace::Category;

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

// By torch's names of its copy kernels.
std::optional<DeviceCopy> kind_by_name(std::string_view kernel) {
  if (contains_any(kernel, {"WithCast", "float16_copy_kernel", "float8_copy_kernel"}))
    return DeviceCopy::kCast;
  if (contains(kernel, "nocast") && contains(kernel, "copy_kernel"))
    return DeviceCopy::kLayout;
  return std::nullopt;
}

// The transposes that MIOpen and cuDNN put before and after a kernel that wants the
// other memory format: launched inside the convolution, without an operator.
bool changes_format(std::string_view kernel) {
  return contains_any(kernel,
                      {"batched_transpose_", "nchwToNhwcKernel", "nhwcToNchwKernel",
                       "nchwToFoldedNhwcKernel", "foldedNhwcToNchwKernel"});
}

}  // namespace

std::optional<DeviceCopy> kind_by_inputs(const timeline::OpArgs* op) {
  if (op == nullptr || op->types.size() < 2) return std::nullopt;
  const auto to = timeline::element_bytes(op->types[0]);
  if (std::min(to, timeline::element_bytes(op->types[1])) < 0) return std::nullopt;
  if (op->types[0] != op->types[1]) return DeviceCopy::kCast;
  // torch copies equal layouts by a memcpy; strides, if known, may say otherwise.
  const bool same = op->strides.size() >= 2 && !op->strides[0].empty() &&
                    op->strides[0] == op->strides[1];
  return same ? DeviceCopy::kCopy : DeviceCopy::kLayout;
}

DeviceCopies::DeviceCopies(const Context& context) : context_(context) {
  const auto& t = context.timeline;
  const auto& strings = t.trace->strings;
  changes_format_.resize(strings.size());
  for (std::uint32_t id = 0; id < strings.size(); ++id) {
    changes_format_[id] = changes_format(strings.view(id));
  }
  for (const auto& call : t.launch_calls) {
    if (!contains(t.trace->name(call.row), "GraphLaunch")) continue;
    const auto op = t.tree.enclosing(t.columns(), call.row, Category::kCpuOp);
    if (op == kNoRow) continue;
    if (runs_graph_.empty()) runs_graph_.assign(t.columns().size(), 0);
    runs_graph_[op] = 1;
  }
}

std::uint32_t DeviceCopies::graph_call(std::uint32_t owner) const {
  if (runs_graph_.empty()) return kNoRow;
  auto at = owner;
  for (int depth = 0; at != kNoRow && depth < timeline::kMaxDepth; ++depth) {
    if (runs_graph_[at]) return at;
    at = context_.timeline.tree.parent[at];
  }
  return kNoRow;
}

std::optional<FoundCopy> DeviceCopies::of(std::uint32_t row) const {
  const auto& t = context_.timeline;
  const auto cat = t.columns().cat(row);
  const auto name = t.trace->name(row);
  const bool memcpy = cat == Category::kGpuMemcpy;
  if (memcpy ? timeline::copy_direction(name) != timeline::CopyDirection::kInDevice
             : cat != Category::kKernel) {
    return std::nullopt;
  }
  if (!memcpy && changes_format_[t.columns().name[row]]) {
    return FoundCopy{DeviceCopy::kLayout, row};
  }
  const auto owner = t.owner_of(row);
  if (owner == kNoRow) {
    // Of a memcpy no more need be known, but that no collective sent it.
    const auto launch = t.launch_of(row);
    const bool known = launch != kNoRow && t.tree.parent[launch] != kNoRow;
    if (!memcpy || known) return std::nullopt;
    return FoundCopy{DeviceCopy::kCopy, row};
  }
  if (!is_own_purpose(t, owner)) return std::nullopt;
  auto kind = memcpy ? std::optional(DeviceCopy::kCopy)
                     : kind_by_inputs(context_.args.op(owner));
  if (!kind) kind = kind_by_name(name);
  if (const auto call = graph_call(owner); call != kNoRow) {
    return FoundCopy{DeviceCopy::kGraphBuffers, call};
  }
  if (!kind) return std::nullopt;
  return FoundCopy{*kind, row};
}

}  // namespace tta::patterns
