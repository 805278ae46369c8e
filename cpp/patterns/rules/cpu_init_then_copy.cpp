// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/cpu_init_then_copy.cpp: tensors filled on the CPU, then copied.
//
// torch.zeros(...).to(device) fills memory of the host and sends it over the bus, where
// torch.zeros(..., device=device) launches one kernel. Seen as an operator that fills
// (fill_, zero_, normal_, ... or what calls it) and launches nothing, followed on its
// thread by a copy to the device. Operators that make or fill tensors may come between,
// and other such copies; any other operator may have made the tensor, and ends it.
// Sizes and types have to be known (record_shapes) and to agree: else any fill, of a
// sum that stays on the CPU say, would be blamed for the copy of the next batch.
//
// The cost is the device's idle time meanwhile, and the copy itself where it ran alone.
#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <vector>

#include "patterns/copies.h"
#include "patterns/marks.h"

namespace tta::patterns {
namespace cpu_init_then_copy {
namespace {

enum : std::size_t { kMinShare, kMaxCall };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.01, "share", "1 % of the time is worth reporting"},
    Threshold{"max_call", 1000, "us",
              "besides the copy itself its operators take 50-150 µs; where they take "
              "longer, something else began in them (the first one sets CUDA up: 30 s "
              "seen)"},
};

using trace::Category;

constexpr std::size_t kMaxWaiting = 64;  // tensors looked through for a copy's

// What an operator copied to devices; no bytes if in several parts.
struct Copied {
  bool any = false;
  std::int64_t ns = 0;
  std::int64_t bytes = -1;
};

struct Pair {
  std::uint32_t fill, copy;  // the operators that did it
};

// Tells whether what was copied can only be what was filled: both sizes and types are
// known and equal, or, where the copy's operator says nothing, its bytes are as many.
bool same_tensor(const Held& filled, const Held& copied, std::int64_t bytes) {
  if (filled.elements <= 0 || filled.type.empty()) return false;
  if (copied.elements >= 0 && !copied.type.empty()) {
    return copied.elements == filled.elements && copied.type == filled.type;
  }
  return filled.bytes > 0 && filled.bytes == bytes;
}

// Per row: facts about the enclosing operators, gathered from children to parents.
struct Facts {
  std::vector<std::uint32_t> fill;  // the last fill inside, or itself; else kNoRow
  std::vector<char> calls;          // something inside called the runtime
};

Facts gather(const timeline::Timeline& t, std::span<const std::uint32_t> rows,
             Facts facts) {
  const auto& c = t.columns();
  // Parents come first, so backwards every row is complete before it is passed on.
  for (auto it = rows.rbegin(); it != rows.rend(); ++it) {
    const auto row = *it;
    if (c.cat_info(row).runtime_api) facts.calls[row] = 1;
    const bool op = c.cat(row) == Category::kCpuOp;
    if (op && facts.fill[row] == kNoRow && t.named(row, Name::kFills)) {
      facts.fill[row] = row;
    }
    const auto parent = t.tree.parent[row];
    if (parent == kNoRow) continue;
    facts.calls[parent] |= facts.calls[row];
    if (op && c.cat(parent) == Category::kCpuOp && facts.fill[parent] == kNoRow) {
      facts.fill[parent] = facts.fill[row];
    }
  }
  return facts;
}

// Goes through a thread's outermost operators in order of time.
void pair_up(const Context& context, const timeline::Lane& lane, const Facts& facts,
             const std::vector<Copied>& copies, std::vector<Pair>& out) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  std::vector<std::uint32_t> waiting;  // from `head` on: fills that nothing copied yet
  std::size_t head = 0;
  auto inside_until = std::numeric_limits<std::int64_t>::min();
  for (const auto row : t.lanes.rows_of(lane)) {
    if (c.cat(row) != Category::kCpuOp) continue;
    // An operator of torch's; what only encloses others is looked into.
    if (!t.named(row, Name::kAten) || c.ts[row] < inside_until) continue;
    inside_until = c.end(row);
    if (copies[row].any) {
      const auto wanted = first_input(context, row);
      const auto last = std::min(waiting.size(), head + kMaxWaiting);
      for (auto i = head; i < last; ++i) {
        const auto has = first_input(context, facts.fill[waiting[i]]);
        if (!same_tensor(has, wanted, copies[row].bytes)) continue;
        out.push_back({waiting[i], row});
        head = i + 1;
        break;
      }
    } else if (facts.fill[row] != kNoRow) {  // if with a call, on the device
      if (!facts.calls[row]) waiting.push_back(row);
    } else if (!t.named(row, Name::kMakesRoom)) {
      waiting.clear();
      head = 0;
    }
  }
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  std::vector<Copied> copies(c.size());  // of outermost copy operators
  std::vector<std::vector<HostCopy>> listed;
  bool any = false;
  for (const auto& d : t.devices) {
    listed.push_back(host_copies(context, d));
    for (const auto& copy : listed.back()) {
      const bool up = copy.way == CopyWay::kToDevice;
      const auto op = up ? copy_operator(t, copy.row) : kNoRow;
      if (op == kNoRow) continue;
      any = true;
      auto& copied = copies[op];
      copied = {true, copied.ns + c.dur[copy.row], copied.any ? -1 : copy.bytes};
    }
  }
  if (!any) return {};
  std::vector<Pair> pairs;
  Facts facts{std::vector<std::uint32_t>(c.size(), kNoRow),
              std::vector<char>(c.size(), 0)};
  for (const auto& lane : t.lanes.threads()) {
    facts = gather(t, t.lanes.rows_of(lane), std::move(facts));
    pair_up(context, lane, facts, copies, pairs);
  }
  std::vector<Mark> marks;
  std::vector<char> ours(c.size(), 0);
  for (const auto& pair : pairs) {
    marks.push_back({{c.ts[pair.fill], c.end(pair.fill)}, pair.copy});
    if (c.dur[pair.copy] - copies[pair.copy].ns <= context.limits.ns(kMaxCall)) {
      marks.push_back({{c.ts[pair.copy], c.end(pair.copy)}, pair.copy});
    }
    ours[pair.copy] = 1;
  }
  auto sites = marks;
  auto claims = claim_marks(context, PatternId::kCpuInitThenCopy, std::move(marks));
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    BareTime bare(context, i);
    for (const auto& copy : listed[i]) {
      const auto parts = bare.of({c.ts[copy.row], c.end(copy.row)});
      const auto op = copy_operator(t, copy.row);
      if (op == kNoRow || !ours[op]) continue;
      sites.push_back({{}, op, 0, copy.row});
      for (const auto& part : parts) {
        claims.push_back({PatternId::kCpuInitThenCopy, 0, false, t.devices[i].device,
                          part.begin, part.end, op});
      }
    }
  }
  note_sites(context, PatternId::kCpuInitThenCopy, std::move(sites));
  return claims;
}

std::string describe(const Context&, const Finding& f) {
  return count_text(f.count, "tensor was", "tensors were") +
         " filled on the CPU and copied: " + devices_text(f, false) + " idled " +
         duration_text(f.idle_ns) + " meanwhile, and copied " +
         duration_text(f.wasted_ns - f.idle_ns) + " with no kernel beside.";
}

}  // namespace
}  // namespace cpu_init_then_copy

const Rule kCpuInitThenCopyRule{
    PatternId::kCpuInitThenCopy, cpu_init_then_copy::kThresholds,
    cpu_init_then_copy::propose, cpu_init_then_copy::describe};

}  // namespace tta::patterns
