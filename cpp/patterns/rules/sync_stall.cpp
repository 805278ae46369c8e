// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/sync_stall.cpp: the device runs dry because the host waited for it.
//
// While the host waits for a busy device nothing is lost; 114-376 ms of blocking calls
// cost 0-15 ms in public traces. The loss comes after: no new work was launched during
// the wait, so the device idles until the next launch arrives. That gap is the stall.
// Without the wait the host would have been ahead by the wait's length and no more,
// which bounds the stall: the rest of the gap has another cause.
#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "patterns/blocking_calls.h"
#include "patterns/copies.h"
#include "patterns/marks.h"
#include "patterns/rule.h"
#include "patterns/rules/sync_stall/drains.h"

namespace tta::patterns {
namespace sync_stall {
namespace {

enum : std::size_t { kMinShare, kMinWait, kMaxThreads, kSmallBytes };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.01, "share", "a hundredth of the time is worth a line"},
    Threshold{
        "min_wait", 50, "us",
        "chosen, as most profilers flag waits from there on; the calls alone take "
        "4-20 µs on an idle device in public traces"},
    Threshold{"max_threads", 2, "count",
              "chosen: of more threads that wait or launch, nobody knows which waits "
              "for whom (a pool that serves requests)"},
    Threshold{"small_bytes", 1 << 16, "bytes",
              "as frequent_memcpy: what is read to decide on it; more is data"},
};

struct Cause {
  std::string_view operator_name;
  SyncKind kind;
};

// Operators that read device data on the host, by what they do with it.
constexpr std::array<Cause, 16> kCauses = {{
    {"aten::_local_scalar_dense", SyncKind::kScalarRead},
    {"aten::item", SyncKind::kScalarRead},
    {"aten::is_nonzero", SyncKind::kScalarRead},
    {"aten::equal", SyncKind::kScalarRead},
    {"aten::nonzero", SyncKind::kDataDependentShape},
    {"aten::nonzero_numpy", SyncKind::kDataDependentShape},
    {"aten::masked_select", SyncKind::kDataDependentShape},
    {"aten::unique", SyncKind::kDataDependentShape},
    {"aten::_unique", SyncKind::kDataDependentShape},
    {"aten::_unique2", SyncKind::kDataDependentShape},
    {"aten::unique_consecutive", SyncKind::kDataDependentShape},
    {"aten::unique_dim", SyncKind::kDataDependentShape},
    {"aten::repeat_interleave", SyncKind::kDataDependentShape},
    {"aten::bincount", SyncKind::kDataDependentShape},
    {"aten::_to_copy", SyncKind::kBlockingCopy},
    {"aten::copy_", SyncKind::kBlockingCopy},
}};

// The outermost operator that explains the wait decides: nonzero copies its count to
// the host, and is a data-dependent shape all the same.
SyncKind kind_of(const timeline::Timeline& t, std::uint32_t wait) {
  const auto& c = t.columns();
  const auto call = t.trace->name(wait);
  auto kind = call.find("Memcpy") != std::string_view::npos  ? SyncKind::kBlockingCopy
              : call.find("Event") != std::string_view::npos ? SyncKind::kEvent
                                                             : SyncKind::kExplicit;
  int depth = 0;
  for (auto row = wait; row != kNoRow && depth < timeline::kMaxDepth;
       row = t.tree.parent[row], ++depth) {
    if (c.cat(row) != trace::Category::kCpuOp) continue;
    for (const auto& cause : kCauses) {
      if (t.trace->name(row) == cause.operator_name) kind = cause.kind;
    }
  }
  return kind;
}

// The outermost operator around a wait that is there to read a value or to copy.
std::uint32_t reading_operator(const timeline::Timeline& t, std::uint32_t wait) {
  const auto& c = t.columns();
  auto out = kNoRow;
  int depth = 0;
  for (auto row = wait; row != kNoRow && depth < timeline::kMaxDepth;
       row = t.tree.parent[row], ++depth) {
    if (c.cat(row) != trace::Category::kCpuOp) continue;
    const auto name = t.trace->name(row);
    const bool reads = std::any_of(kCauses.begin(), kCauses.end(), [&](auto& cause) {
      return cause.operator_name == name;
    });
    if (reads || (out != kNoRow && name == "aten::to")) out = row;
  }
  return out;
}

// Every wait that the advice would remove, costly or not: a wait that costs nothing
// takes over where another is removed. Reading a value goes with its operator and its
// small copy; a large copy is data that the host wants, and only is not waited for.
// Copies to the device are pageable_copy's and frequent_memcpy's, and what frees memory
// allocator_churn's.
void note_waits(const Context& context) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  struct Copied {
    std::uint32_t row;
    bool down, small;
  };
  std::unordered_map<std::uint32_t, Copied> copied;  // by the call
  for (const auto& d : t.devices) {
    for (const auto& copy : host_copies(context, d)) {
      const auto call = t.launch_of(copy.row);
      if (call == kNoRow) continue;
      copied[call] = {copy.row, copy.way == CopyWay::kToHost,
                      copy.bytes <= context.limits[kSmallBytes]};
    }
  }
  std::vector<Mark> sites;
  for (const auto& thread : t.waits) {
    const auto& rows = t.lanes.rows_of(t.lanes.lanes[thread.lane]);
    for (const auto& wait : thread.waits) {
      if (t.is_closing_sync(wait.row) || is_autotuning(t, wait.row) ||
          t.trace->name(wait.row).find("Free") != std::string_view::npos) {
        continue;
      }
      std::optional<Copied> copy;
      for (auto it = std::lower_bound(
               rows.begin(), rows.end(), wait.begin,
               [&](std::uint32_t row, std::int64_t at) { return c.ts[row] < at; });
           it != rows.end() && c.ts[*it] < wait.end; ++it) {
        if (const auto of = copied.find(*it); of != copied.end()) copy = of->second;
      }
      if (copy && !copy->down) continue;
      Mark site{{wait.begin, wait.end},
                wait.row,
                static_cast<std::uint8_t>(kind_of(t, wait.row))};
      const auto op = reading_operator(t, wait.row);
      if (copy && !copy->small) {
        site.time = {};
      } else {
        if (op != kNoRow) site.time = {c.ts[op], c.end(op)};
        if (copy) site.work = copy->row;
      }
      sites.push_back(site);
    }
  }
  note_sites(context, PatternId::kSyncStall, std::move(sites));
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  std::vector<Claim> claims;
  if (t.waits.empty()) return claims;
  note_waits(context);
  Drains drains(t, context.limits.ns(kMinWait), context.limits[kMaxThreads]);
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    // A wait of which something is left goes on costing as long as the same thread's
    // launches come late: its lead is still lost. A launch in the queue ends that.
    Drain drain;
    for (const auto& gap : t.devices[i].gaps) {
      const auto launch = t.launch_of(gap.next);
      // At the span's end nothing was launched any more: no one was kept waiting.
      if (launch == kNoRow || gap.previous == kNoRow ||
          c.ts[launch] <= gap.time.begin) {
        drain = {};
        continue;
      }
      const auto fresh = drains.of(launch, gap.time.begin);
      if (fresh.wait != nullptr && fresh.wait != drain.wait) drain = fresh;
      if (drain.wait == nullptr || drain.lane != t.lanes.lane[launch] ||
          c.ts[launch] < drain.wait->end) {
        drain = {};
        continue;
      }
      const auto kind = static_cast<std::uint8_t>(kind_of(t, drain.wait->row));
      const Interval time{gap.time.begin, std::min(gap.time.end, drain.until)};
      for (const auto& idle : context.ledger.idle(i, time)) {
        const auto end = std::min(idle.end, idle.begin + drain.left);
        if (end == idle.begin) break;
        drain.left -= end - idle.begin;
        claims.push_back({PatternId::kSyncStall, kind, true, t.devices[i].device,
                          idle.begin, end, drain.wait->row});
      }
    }
  }
  return claims;
}

std::string describe(const Context& context, const Finding& f) {
  const auto& t = context.timeline;
  const std::string call(t.trace->name(f.events.front()));
  return std::to_string(f.count) + (f.count == 1 ? " wait" : " waits") + " in " + call +
         ": " + devices_text(f, false) + " then idled " + duration_text(f.wasted_ns) +
         " until new work arrived.";
}

}  // namespace
}  // namespace sync_stall

std::vector<BlockingCall> blocking_calls(const timeline::Timeline& t) {
  std::vector<BlockingCall> out;
  std::vector<std::uint32_t> rows;
  for (const auto& thread : t.waits) {
    for (const auto& wait : thread.waits) {
      if (t.is_closing_sync(wait.row) || is_autotuning(t, wait.row)) continue;
      const auto owner = t.owner_of(wait.row);
      out.push_back({wait.row, wait.begin, wait.end,
                     static_cast<std::uint8_t>(sync_stall::kind_of(t, wait.row)),
                     std::nullopt,
                     owner == kNoRow ? "" : std::string(t.trace->name(owner))});
    }
  }
  std::stable_sort(
      out.begin(), out.end(),
      [](const BlockingCall& a, const BlockingCall& b) { return a.begin < b.begin; });
  for (const auto& wait : out) rows.push_back(wait.row);
  auto frames = timeline::user_frames(t, rows);
  for (std::size_t i = 0; i < out.size(); ++i) out[i].location = std::move(frames[i]);
  return out;
}

const Rule kSyncStallRule{PatternId::kSyncStall, sync_stall::kThresholds,
                          sync_stall::propose, sync_stall::describe};

}  // namespace tta::patterns
