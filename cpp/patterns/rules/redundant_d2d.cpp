// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/redundant_d2d.cpp: the device copies or converts what it already has.
//
// Copies inside a device, and the kernels of the copy operators (copy_, _to_copy,
// clone, contiguous): casts where the types of source and destination differ, changes
// of layout where their strides do, else plain copies. Without input types
// (record_shapes=False) the kernel's name decides; if it is unclear, the rule is
// silent. Copies inside another operator (repeat) or a collective are not counted,
// except for the changes of memory format that cuDNN and MIOpen make around a
// convolution. The cost is the time without concurrent work by which the next work,
// already launched, could have come earlier.
#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "patterns/marks.h"
#include "timeline/device_facts.h"

namespace tta::patterns {
namespace redundant_d2d {
namespace {

enum : std::size_t { kMinShare, kMinBusy };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.01, "share", "1 % of the time is worth reporting"},
    Threshold{"min_busy", 0.05, "share",
              "of the busy time: TraceLens reports copies from 5 % of it on; training "
              "in mixed precision casts 1-4 % of its time without harm"},
};

using trace::Category;

// In the order of redundant_d2d's sub-types.
enum class DeviceCopy : std::uint8_t {
  kCast,    // Source and destination have different types.
  kLayout,  // ... the same type, but different strides.
  kCopy,    // ... the same of both.
  // Into or out of the fixed addresses of a captured graph: made by the operator that
  // launches the graph.
  kGraphBuffers,
};

struct FoundCopy {
  DeviceCopy kind = DeviceCopy::kCopy;
  std::uint32_t evidence = 0;  // The row itself; the operator that runs the graph.
};

// Tells them from other work. Refers to the context.
class DeviceCopies {
 public:
  // Linear in the distinct names, the launch calls and the depth of each.
  explicit DeviceCopies(const Context& context);

  // Tells what a row of device work copies inside its device; none if it is another
  // kind of work, part of another operator (repeat) or of a collective, or if neither
  // inputs nor the kernel's name tell. The transposes of memory format that libraries
  // run inside a convolution are such, by their names. Climbs at most
  // timeline::kMaxDepth.
  std::optional<FoundCopy> of(std::uint32_t row) const;

 private:
  std::uint32_t graph_call(std::uint32_t owner) const;

  const Context& context_;
  std::vector<char> runs_graph_;  // of each row; empty without graphs
};

// Tells the kind by the first two inputs of copy_, destination and source; none if
// their types are unknown.
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

// Whether a copy operator is not part of another operator's work.
bool is_own_purpose(const timeline::Timeline& t, std::uint32_t owner) {
  if (!t.named(owner, Name::kCopiesOnly)) return false;
  const auto parent = t.tree.parent[owner];
  if (t.trace->name(owner) != "aten::copy_" || parent == kNoRow ||
      t.columns().cat(parent) != Category::kCpuOp ||
      t.named(parent, Name::kCopiesOnly)) {
    return true;
  }
  const auto above = t.trace->name(parent);
  return !t.named(parent, Name::kAten) && !t.named(parent, Name::kCollectiveCall) &&
         !t.named(parent, Name::kDeviceBackend) && above != "record_param_comms";
}

DeviceCopies::DeviceCopies(const Context& context) : context_(context) {
  const auto& t = context.timeline;
  for (const auto& call : t.launch_calls) {
    if (!t.named(call.row, Name::kGraphLaunch)) continue;
    const auto op = t.tree.enclosing(t.columns(), call.row, Category::kCpuOp);
    if (op == kNoRow) continue;
    if (runs_graph_.empty()) runs_graph_.assign(t.columns().size(), 0);
    runs_graph_[op] = 1;
  }
}

std::uint32_t DeviceCopies::graph_call(std::uint32_t owner) const {
  if (runs_graph_.empty()) return kNoRow;
  return context_.timeline.tree.innermost(
      owner, [&](auto at) { return runs_graph_[at] != 0; });
}

std::optional<FoundCopy> DeviceCopies::of(std::uint32_t row) const {
  const auto& t = context_.timeline;
  const auto cat = t.columns().cat(row);
  const bool memcpy = cat == Category::kGpuMemcpy;
  if (memcpy ? !t.named(row, Name::kInDevice) : cat != Category::kKernel) {
    return std::nullopt;
  }
  if (!memcpy && t.named(row, Name::kChangesFormat)) {
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
  if (!kind && t.named(row, Name::kCasts)) kind = DeviceCopy::kCast;
  if (!kind && t.named(row, Name::kChangesLayout)) kind = DeviceCopy::kLayout;
  if (const auto call = graph_call(owner); call != kNoRow) {
    return FoundCopy{DeviceCopy::kGraphBuffers, call};
  }
  if (!kind) return std::nullopt;
  return FoundCopy{*kind, row};
}

// The outermost operator that only makes the copy; kNoRow without one.
std::uint32_t copying_operator(const timeline::Timeline& t, std::uint32_t work) {
  auto out = kNoRow;
  for (const auto at : t.tree.around(t.owner_of(work))) {
    if (!t.named(at, Name::kCopiesOnly) && t.trace->name(at) != "aten::to") break;
    out = at;
  }
  return out;
}

void propose_for(const Context& context, std::size_t i, const DeviceCopies& known,
                 const IntervalSet& limits, std::vector<Claim>& claims,
                 std::vector<Mark>& sites) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  const auto& d = t.devices[i];
  std::vector<std::pair<std::uint32_t, FoundCopy>> copies;
  std::vector<Interval> rest;
  for (const auto row : d.rows) {
    if (const auto copy = known.of(row)) {
      copies.emplace_back(row, *copy);
    } else {
      rest.push_back({c.ts[row], c.end(row)});
    }
  }
  const auto others = timeline::unite(std::move(rest));
  std::vector<Claim> own;
  std::int64_t reached = t.span.begin, cost = 0;
  for (const auto& [row, copy] : copies) {
    const Interval time{std::max(c.ts[row], reached), c.end(row)};
    if (time.length() == 0) continue;
    reached = time.end;
    auto lead = timeline::host_lead(limits, c.end(row));
    for (const auto& part : timeline::subtract({time}, timeline::clip(others, time))) {
      for (const auto& left : context.ledger.busy(i, part)) {
        const auto end = std::min(left.end, left.begin + lead);
        if (end == left.begin) continue;
        own.push_back({PatternId::kRedundantD2d, static_cast<std::uint8_t>(copy.kind),
                       false, d.device, left.begin, end, copy.evidence});
        cost += end - left.begin;
        lead -= end - left.begin;
      }
    }
  }
  if (static_cast<double>(cost) <
      context.limits[kMinBusy] * static_cast<double>(d.busy_ns)) {
    return;
  }
  claims.insert(claims.end(), own.begin(), own.end());
  for (const auto& [row, copy] : copies) {
    const auto op = copying_operator(t, row);
    sites.push_back({op == kNoRow ? Interval{} : Interval{c.ts[op], c.end(op)},
                     copy.evidence, static_cast<std::uint8_t>(copy.kind), row});
  }
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  std::vector<Claim> claims;
  std::vector<Mark> sites;
  const DeviceCopies known(context);
  const timeline::DeviceLimits limits(t);
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    propose_for(context, i, known, limits.of(i), claims, sites);
  }
  note_sites(context, PatternId::kRedundantD2d, std::move(sites));
  return claims;
}

std::string describe(const Context&, const Finding& f) {
  const auto kind = static_cast<DeviceCopy>(f.subtype);
  if (kind == DeviceCopy::kGraphBuffers) {
    return count_text(f.count, "call", "calls") +
           " of a captured graph copied inputs and outputs inside " +
           devices_text(f, false) + " for " + duration_text(f.wasted_ns) +
           " with no other work beside.";
  }
  const auto what =
      kind == DeviceCopy::kCast
          ? count_text(f.count, "cast", "casts") + " to another dtype"
      : kind == DeviceCopy::kLayout
          ? count_text(f.count, "copy", "copies") + " to another memory layout"
          : count_text(f.count, "plain copy", "plain copies");
  return what + " inside " + devices_text(f, false) + " took " +
         duration_text(f.wasted_ns) + " with no other work beside.";
}

std::string advise(const Context&, const Finding& f) {
  switch (static_cast<DeviceCopy>(f.subtype)) {
    case DeviceCopy::kCast:
      return "Keep one dtype: cast weights and tables once, outside the loop; or, "
             "where a norm or softmax is cast up and down again, use the operator that "
             "computes in float32 by itself (F.rms_norm, F.layer_norm, F.softmax) or "
             "torch.compile, which fuses the casts into neighboring kernels.";
    case DeviceCopy::kLayout:
      return "Keep one memory format through the model (channels_last for "
             "convolutions, inputs too), and leave out .contiguous() where the next "
             "operator takes strides.";
    case DeviceCopy::kCopy:
      return "Leave out .clone() if nothing writes to the tensor, write results to "
             "their destination (out=), and let DDP use its buckets as gradients "
             "(gradient_as_bucket_view=True).";
    case DeviceCopy::kGraphBuffers:
      return "Keep the graph's inputs where it reads them: write each batch "
             "directly into the static input, keep parameters and state at fixed "
             "addresses (torch._dynamo.mark_static_address), and clone only outputs "
             "that are needed after the next replay.";
  }
  return {};
}

}  // namespace
}  // namespace redundant_d2d

const Rule kRedundantD2dRule{PatternId::kRedundantD2d, redundant_d2d::kThresholds,
                             redundant_d2d::propose, redundant_d2d::describe,
                             redundant_d2d::advise};

}  // namespace tta::patterns
