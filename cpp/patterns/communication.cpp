// SPDX-License-Identifier: BSD-3-Clause
// patterns/communication.cpp: collectives, and the time that nothing hides.
#include "patterns/communication.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

namespace tta::patterns {

namespace {

using timeline::Interval;
using timeline::IntervalSet;
using timeline::kNoRow;
using timeline::Name;
using trace::Category;

// What belongs to one process.
struct ThreadRows {
  std::vector<std::uint32_t> backend;  // ranges on the backend's threads, by start
  std::vector<std::uint32_t> lanes;    // its threads
};

class Host {
 public:
  Host(const timeline::Timeline& t, std::uint32_t main, ThreadRows rows)
      : t_(t), c_(t.columns()), main_(main), rows_(std::move(rows)) {
    std::vector<Interval> ranges;
    for (const auto row : rows_.backend) ranges.push_back({c_.ts[row], c_.end(row)});
    running_ = timeline::unite(std::move(ranges));
  }

  CommOnHost measure() {
    CommOnHost out;
    if (running_.empty()) return out;
    read_main_thread();
    const auto computing = computation();
    IntervalSet blocked;
    // The narrowest first: a backward pass holds the waits of its hooks.
    for (const auto* list : {&waits_, &operators_, &backwards_}) {
      std::vector<Interval> seen(blocked.begin(), blocked.end());
      std::int64_t reached = t_.span.begin;
      for (const auto& wait : *list) {
        const Interval time{std::max(wait.time.begin, reached), wait.time.end};
        if (time.length() == 0) continue;
        reached = time.end;
        for (const auto& free :
             timeline::subtract({time}, timeline::clip(blocked, time))) {
          for (const auto& part :
               timeline::subtract({free}, timeline::clip(computing, free))) {
            out.waits.push_back({part, wait.row});
          }
        }
        seen.push_back(time);
      }
      blocked = timeline::unite(std::move(seen));
    }
    std::vector<Interval> comm(running_.begin(), running_.end());
    for (const auto& wait : out.waits) {
      comm.push_back(wait.time);
      out.exposed_ns += wait.time.length();
    }
    out.comm_ns = timeline::total(timeline::unite(std::move(comm)));
    return out;
  }

 private:
  // Lists what may block the main thread. An event that does not by itself prove a wait
  // for a collective counts only while one is running.
  void read_main_thread() {
    bool frames = false;
    std::uint32_t asked = kNoRow;  // the last collective's operator
    for (const auto row : t_.lanes.rows_of(main_)) {
      const Interval time{c_.ts[row], t_.tree.end(c_, row)};
      if (c_.cat(row) == Category::kCpuOp) {
        if (t_.named(row, Name::kCollectiveWait)) add(operators_, time, row);
        if (t_.named(row, Name::kCollectiveCall)) asks_.push_back(asked = row);
      }
      if (c_.cat(row) != Category::kPythonFunction) continue;
      frames = true;
      if (t_.named(row, Name::kWaitMethod)) {
        const auto call = t_.tree.parent[row];
        if (call != kNoRow && t_.named(call, Name::kDdpFrame)) {
          // A synchronous call: it waits for what it has just asked for.
          const bool own = asked != kNoRow && c_.ts[asked] >= c_.ts[call];
          waits_.push_back({time, own ? asked : row});
        } else {
          add(waits_, time, row);
        }
      } else if (t_.named(row, Name::kRunsBackward)) {
        add(backwards_, time, row);
      }
    }
    if (frames) return;
    for (const auto row : rows_.backend) {
      add(backwards_, {c_.ts[row], c_.end(row)}, row);
    }
    // The backend's threads know no line and no operator; who asked last does.
    for (auto& wait : backwards_) {
      const auto* ask = timeline::last_begun(asks_, wait.time.begin,
                                             [&](auto row) { return c_.ts[row]; });
      if (ask != nullptr) wait.row = *ask;
    }
    std::stable_sort(backwards_.begin(), backwards_.end(),
                     [](const CommWait& a, const CommWait& b) {
                       return a.time.begin < b.time.begin;
                     });
  }

  void add(std::vector<CommWait>& to, Interval time, std::uint32_t row) {
    for (const auto& part : timeline::clip(running_, time)) to.push_back({part, row});
  }

  // When any thread was in an operator and, on the main thread, not in one that waits
  // for a collective. To ask for one is work too: the host would do it anyway.
  IntervalSet computation() const {
    std::vector<Interval> main, others, waits;
    for (const auto lane : rows_.lanes) {
      for (const auto row : t_.lanes.rows_of(lane)) {
        if (c_.cat(row) != Category::kCpuOp) continue;
        const auto parent = t_.tree.parent[row];
        // What its parent is, it is too.
        if (parent != kNoRow &&
            (c_.cat(parent) == Category::kCpuOp || t_.named(parent, Name::kBackend))) {
          continue;
        }
        (lane == main_ ? main : others).push_back({c_.ts[row], c_.end(row)});
      }
    }
    for (const auto* list : {&waits_, &operators_}) {
      for (const auto& wait : *list) waits.push_back(wait.time);
    }
    const auto at_work = timeline::subtract(timeline::unite(std::move(main)),
                                            timeline::unite(std::move(waits)));
    others.insert(others.end(), at_work.begin(), at_work.end());
    return timeline::unite(std::move(others));
  }

  const timeline::Timeline& t_;
  const trace::Columns& c_;
  std::uint32_t main_;  // its thread
  ThreadRows rows_;
  IntervalSet running_;              // when a collective was under way
  std::vector<std::uint32_t> asks_;  // the operators of collectives, by start
  std::vector<CommWait> waits_, operators_, backwards_;  // by start
};

}  // namespace

std::vector<CommOnHost> comm_on_host(const timeline::Timeline& t) {
  std::vector<CommOnHost> out;
  if (!t.host) return out;
  std::vector<ThreadRows> rows(t.host.size());
  for (const auto& span : t.spans.annotations) {
    const auto i = t.host.index_of(t.columns().pid[span.row]);
    if (i != timeline::HostTimes::kNone && t.named(span.row, Name::kBackend)) {
      rows[i].backend.push_back(span.row);
    }
  }
  for (const auto& lane : t.lanes.threads()) {
    const auto i = t.host.index_of(lane.pid);
    if (i != timeline::HostTimes::kNone) rows[i].lanes.push_back(lane.id);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out.push_back(Host(t, t.host[i].lane, std::move(rows[i])).measure());
  }
  return out;
}

IntervalSet computation(const timeline::Timeline& t, const timeline::DeviceTime& d) {
  const auto& c = t.columns();
  std::vector<Interval> work;
  for (const auto row : d.rows) {
    if (!t.is_communication(row)) work.push_back({c.ts[row], c.end(row)});
  }
  return timeline::unite(std::move(work));
}

const timeline::CollectiveArgs* collective_of(const timeline::Timeline& t,
                                              const timeline::EventArgs& args,
                                              std::uint32_t row) {
  if (const auto* own = args.collective(row)) return own;
  for (const auto at : t.tree.around(t.owner_of(row))) {
    if (t.columns().cat(at) != trace::Category::kCpuOp) break;
    if (const auto* of_operator = args.collective(at)) return of_operator;
    // Further up lie the program's own ranges.
    if (t.named(at, Name::kDistributed)) break;
  }
  return nullptr;
}

CollectiveKind kind_named(std::string_view name) {
  std::string letters;
  for (const auto ch : name) {
    const auto byte = static_cast<unsigned char>(ch);
    if (std::isalpha(byte)) letters += static_cast<char>(std::tolower(byte));
  }
  using enum CollectiveKind;
  // Experts' tokens go to all ranks that have one of them, and come back.
  constexpr std::array<std::pair<std::string_view, CollectiveKind>, 16> kKinds = {{
      {"allreduce", kAllReduce},
      {"crossdevicereduce", kAllReduce},
      {"reducescatter", kReduceScatter},
      {"allgather", kAllGather},
      {"alltoall", kAllToAll},
      {"allall", kAllToAll},  // all2all
      {"moeaa", kAllToAll},   // moeA2A
      {"nodedispatch", kAllToAll},
      {"nodelldispatch", kAllToAll},
      {"nodecombine", kAllToAll},
      {"nodellcombine", kAllToAll},
      {"epdispatch", kAllToAll},
      {"epcombine", kAllToAll},
      {"broadcast", kBroadcast},
      {"ncclkernelreduce", kReduce},
      {"nccldevkernelreduce", kReduce},
  }};
  for (const auto& [part, kind] : kKinds) {
    if (letters.find(part) != std::string::npos) return kind;
  }
  return letters == "reduce" || letters == "cdreduce" ? kReduce : kOther;
}

CollectiveKind kind_of(const Context& context, std::uint32_t row) {
  const auto& t = context.timeline;
  if (const auto* known = collective_of(context, row); known && !known->name.empty()) {
    return kind_named(known->name);
  }
  const auto own = kind_named(t.trace->name(row));
  const auto owner = t.owner_of(row);
  return own != CollectiveKind::kOther || owner == kNoRow
             ? own
             : kind_named(t.trace->name(owner));
}

double bytes_sent(const timeline::CollectiveArgs& collective) {
  return bytes_sent(collective.name, static_cast<double>(collective.bytes()),
                    static_cast<double>(collective.group_size));
}

double bytes_sent(std::string_view name, double bytes, double ranks) {
  if (bytes < 0 || ranks < 1) return -1;
  const auto others = (ranks - 1) / ranks;
  switch (kind_named(name)) {
    case CollectiveKind::kAllReduce:
      return 2 * others * bytes;
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllGather:
    case CollectiveKind::kAllToAll:
      return others * bytes;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kReduce:
    case CollectiveKind::kOther:
      break;  // how much each rank sends depends on the root
  }
  return -1;
}

std::vector<Claim> claim_exposed(const Context& context, PatternId pattern,
                                 std::size_t index, std::vector<Mark> marks,
                                 const IntervalSet& computing) {
  std::stable_sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) {
    return a.time.begin < b.time.begin;
  });
  std::vector<Claim> claims;
  auto reached = context.timeline.span.begin;
  for (const auto& mark : marks) {
    const Interval time{std::max(mark.time.begin, reached), mark.time.end};
    if (time.length() == 0) continue;
    reached = time.end;
    for (const auto& part :
         timeline::subtract({time}, timeline::clip(computing, time))) {
      for (const auto& left : context.ledger.busy(index, part)) {
        claims.push_back({pattern, mark.subtype, false,
                          context.timeline.devices[index].device, left.begin, left.end,
                          mark.row});
      }
    }
  }
  return claims;
}

}  // namespace tta::patterns
