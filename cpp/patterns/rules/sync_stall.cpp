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
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "patterns/blocking_calls.h"
#include "patterns/copies.h"
#include "patterns/marks.h"
#include "patterns/rule.h"
#include "timeline/cursor.h"

namespace tta::patterns {
namespace sync_stall {
namespace {

enum : std::size_t { kMinShare, kMinWait, kMaxThreads, kSmallBytes };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.01, "share", "1 % of the time is worth reporting"},
    Threshold{
        "min_wait", 50, "us",
        "chosen, as most profilers flag waits from there on; the calls alone take "
        "4-20 µs on an idle device in public traces"},
    Threshold{"max_threads", 2, "count",
              "chosen: with more threads that wait or launch, it is unknown which "
              "waits for which (a pool that serves requests)"},
    Threshold{"small_bytes", 1 << 16, "bytes",
              "as frequent_memcpy: values read for a decision; more is data"},
};

// A wait that drained a device, and how much of what followed is its fault.
struct Drain {
  const timeline::HostWait* wait = nullptr;
  std::uint32_t lane = timeline::kNoLane;  // The thread that launches next.
  std::int64_t left = 0;                   // Of the wait's length.
  std::int64_t until = trace::kTimeLimit;  // From then on other work is to blame.
};

// Finds for each gap the wait to blame. Refers to the timeline.
class Drains {
 public:
  // Waits shorter than `min_wait` drain nothing. In a process of more than
  // `max_threads` that wait or launch, a wait holds up its own thread only, and those
  // of autograd. O(n) in the rows.
  Drains(const timeline::Timeline& timeline, std::int64_t min_wait, double max_threads);

  // Returns the longest wait that was going on when the device ran dry (`dry`) and
  // that held up the thread of the launch which came next: its own, or one that this
  // thread had nothing to do without. No wait if there is none. O(log n).
  Drain of(std::uint32_t launch, std::int64_t dry);

 private:
  struct Process {
    std::map<std::uint32_t, const timeline::ThreadWaits*> waiting;  // by lane
    std::set<std::uint32_t> threads;  // that wait or launch
  };

  void list_processes();
  void find_autograd();
  void consider(const timeline::ThreadWaits& thread, std::int64_t dry, Drain& out);
  bool worked_during(std::uint32_t lane, const timeline::HostWait& wait);
  std::int64_t next_work(std::int64_t pid, std::int64_t from);

  const timeline::Timeline& t_;
  std::int64_t min_wait_;
  double max_threads_;
  std::map<std::int64_t, Process> processes_;
  std::vector<char> autograd_;                                      // of each lane
  std::map<std::pair<std::uint32_t, std::uint32_t>, bool> worked_;  // lane, wait
  std::map<std::int64_t, std::vector<std::int64_t>> work_;  // by process, ascending
};

// The threads of a process that has more which wait are not looked through, gap by gap.
constexpr std::size_t kMostWaiting = 8;

// Tells whether a wait is cuDNN's own, which measures its algorithms in the first
// iteration (torch.backends.cudnn.benchmark): an operator that waits for an event. No
// line of the user's waits there.
bool is_autotuning(const timeline::Timeline& t, std::uint32_t wait) {
  if (!t.named(wait, Name::kEventCall)) return false;
  const auto owner = t.owner_of(wait);
  return owner != kNoRow && t.named(owner, Name::kAten);
}

Drains::Drains(const timeline::Timeline& t, std::int64_t min_wait, double max_threads)
    : t_(t), min_wait_(min_wait), max_threads_(max_threads) {
  list_processes();
  find_autograd();
}

Drain Drains::of(std::uint32_t launch, std::int64_t dry) {
  Drain out{nullptr, t_.lanes.lane[launch]};
  const auto process = processes_.find(t_.columns().pid[launch]);
  if (process == processes_.end()) return out;
  const auto& p = process->second;
  const bool many = p.waiting.size() > kMostWaiting;
  if (const auto own = p.waiting.find(out.lane); own != p.waiting.end()) {
    consider(*own->second, dry, out);
  }
  if (many) return out;
  const bool crowded = static_cast<double>(p.threads.size()) > max_threads_;
  for (const auto& [lane, thread] : p.waiting) {
    if (lane == out.lane) continue;
    if (crowded && !autograd_[lane] && !autograd_[out.lane]) continue;
    consider(*thread, dry, out);
  }
  return out;
}

void Drains::list_processes() {
  for (const auto& thread : t_.waits) {
    auto& process = processes_[thread.pid];
    process.waiting[thread.lane] = &thread;
    process.threads.insert(thread.lane);
  }
  t_.each_launched([&](auto, auto launch) {
    const auto it = processes_.find(t_.columns().pid[launch]);
    if (it != processes_.end()) it->second.threads.insert(t_.lanes.lane[launch]);
  });
}

// Threads of autograd's engine: they work for the thread that called backward().
void Drains::find_autograd() {
  const auto& c = t_.columns();
  autograd_.assign(t_.lanes.lanes.size(), 0);
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (t_.lanes.lane[row] != timeline::kNoLane &&
        t_.named(row, Name::kAutogradThread) && c.cat(row) == trace::Category::kCpuOp) {
      autograd_[t_.lanes.lane[row]] = 1;
    }
  }
}

void Drains::consider(const timeline::ThreadWaits& thread, std::int64_t dry,
                      Drain& out) {
  const auto after = std::lower_bound(
      thread.waits.begin(), thread.waits.end(), dry,
      [](const timeline::HostWait& w, std::int64_t at) { return w.begin < at; });
  if (after == thread.waits.begin()) return;
  const auto& wait = *std::prev(after);
  const auto length = wait.end - wait.begin;
  if (wait.end < dry - timeline::kClockSkew || length < min_wait_ ||
      length <= out.left || is_autotuning(t_, wait.row)) {
    return;
  }
  auto until = trace::kTimeLimit;
  if (thread.lane != out.lane) {
    if (worked_during(out.lane, wait)) return;
    // Autograd's thread starts because the thread that waited came back. Any other
    // may have had reasons of its own once anything is at work again.
    if (!autograd_[out.lane]) until = next_work(thread.pid, wait.end);
  }
  out = {&wait, out.lane, length, until};
}

bool Drains::worked_during(std::uint32_t lane, const timeline::HostWait& wait) {
  const auto [it, fresh] = worked_.try_emplace({lane, wait.row});
  if (fresh) it->second = t_.at_work(lane, {wait.begin, wait.end});
  return it->second;
}

// When a thread of a process first began an operator or a runtime call again.
std::int64_t Drains::next_work(std::int64_t pid, std::int64_t from) {
  if (work_.empty()) {
    for (const auto& lane : t_.lanes.threads()) {
      for (const auto row : t_.lanes.rows_of(lane)) {
        if (t_.is_work(row)) work_[lane.pid].push_back(t_.columns().ts[row]);
      }
    }
    for (auto& [of, begins] : work_) std::sort(begins.begin(), begins.end());
  }
  const auto& begins = work_[pid];
  const auto it = std::lower_bound(begins.begin(), begins.end(), from);
  return it == begins.end() ? trace::kTimeLimit : *it;
}

// The outermost operator that explains the wait decides: nonzero copies its count to
// the host, and is a data-dependent shape all the same.
SyncKind kind_of(const timeline::Timeline& t, std::uint32_t wait) {
  auto kind = t.named(wait, Name::kMemcpy)      ? SyncKind::kBlockingCopy
              : t.named(wait, Name::kEventCall) ? SyncKind::kEvent
                                                : SyncKind::kExplicit;
  for (const auto row : t.tree.around(wait)) {
    if (t.columns().cat(row) != trace::Category::kCpuOp) continue;
    if (t.named(row, Name::kReadsScalar)) kind = SyncKind::kScalarRead;
    if (t.named(row, Name::kReadsSize)) kind = SyncKind::kDataDependentShape;
    if (t.named(row, Name::kReadsCopy)) kind = SyncKind::kBlockingCopy;
  }
  return kind;
}

// The outermost operator around a wait that is there to read a value or to copy.
std::uint32_t reading_operator(const timeline::Timeline& t, std::uint32_t wait) {
  auto out = kNoRow;
  for (const auto row : t.tree.around(wait)) {
    if (t.columns().cat(row) != trace::Category::kCpuOp) continue;
    const bool reads = t.named(row, Name::kReadsScalar) ||
                       t.named(row, Name::kReadsSize) || t.named(row, Name::kReadsCopy);
    if (reads || (out != kNoRow && t.trace->name(row) == "aten::to")) out = row;
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
    const timeline::Cursor cursor(t, thread.lane);
    for (const auto& wait : thread.waits) {
      if (t.is_closing_sync(wait.row) || is_autotuning(t, wait.row) ||
          t.named(wait.row, Name::kFreeCall)) {
        continue;
      }
      std::optional<Copied> copy;
      for (const auto row : cursor.in({wait.begin, wait.end})) {
        if (const auto of = copied.find(row); of != copied.end()) copy = of->second;
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
      if (t.is_closing_sync(wait.row) || sync_stall::is_autotuning(t, wait.row))
        continue;
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
