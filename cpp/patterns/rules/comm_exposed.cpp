// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/comm_exposed.cpp: communication that no computation hides.
//
// The time in which a device runs collectives and nothing else. A collective also
// waits for its slowest rank, so this can be another rank's fault: one rank's trace
// does not tell. Without device work (gloo) it is the main thread's time in
// collectives, see comm_on_host.cpp.
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "patterns/communication.h"
#include "patterns/rule.h"
#include "patterns/warm_up.h"

namespace tta::patterns {
namespace comm_exposed {
namespace {

enum : std::size_t {
  kMinShare,
  kExposedShare,
  kMinOverlap,
  kMinComm,
  kRateBytes,
  kWaitRate,
  kMinAlike,
  kLowRate,
  kSteady
};
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.01, "share", "1 % of the time is worth reporting"},
    Threshold{"exposed_share", 0.05, "share",
              "HTA and TraceLens: this share of the window counts, even if the rest is "
              "hidden"},
    Threshold{"min_overlap", 0.7, "share",
              "TraceLens: if less is hidden, overlap failed, which counts below "
              "exposed_share too"},
    Threshold{"min_comm", 100, "us",
              "TraceLens: the overlap of less communication has no meaning"},
    Threshold{
        "rate_bytes", 1 << 20, "bytes",
        "msprof-analyze: from 1 MB on the link's rate shows, below it is latency"},
    Threshold{"wait_rate", 1000, "bytes",
              "a microsecond, 1 GB/s: a few percent of PCIe 4 x16 (32 GB/s) or of one "
              "link between accelerators (25-64 GB/s)"},
    Threshold{"min_alike", 3, "count",
              "of two like collectives, either may be the usual one"},
    Threshold{"low_rate", 5000, "bytes",
              "a microsecond, 5 GB/s: half of PCIe 3 x16, the slowest path between two "
              "GPUs that are set up to reach each other"},
    Threshold{"steady", 1.25, "factor",
              "from the lower to the upper quartile of the rates of large collectives: "
              "waiting for other ranks spreads them far more"},
};

struct Waiting {
  double share = 0;        // of the collectives' time
  std::int64_t least = 0;  // what the quickest took, of the kind that takes longest
};

// Which step of its process an event begins in; its begin, or the time limit.
std::int64_t step_of(const std::map<std::int64_t, std::vector<timeline::Span>>& steps,
                     std::int64_t pid, std::int64_t at) {
  const auto own = steps.find(pid);
  if (own == steps.end()) return trace::kTimeLimit;
  const auto* step = timeline::last_begun(own->second, at, &timeline::Span::begin);
  return step == nullptr ? trace::kTimeLimit : step->begin;
}

// Compares the collectives that prove a finding with the quickest of their kind: of one
// name and size or, where sizes are unknown, of one place in each step. The others sent
// no more, so their extra time is waiting for a late rank. Kinds with fewer than
// `min_alike` are skipped. O(n log n) in the claims and steps.
Waiting waiting_of(const Context& context, const Finding& f, double min_alike) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  const auto steps = steps_by_process(t);
  std::set<std::pair<std::int64_t, std::uint32_t>> rows;  // by begin
  for (const auto& claim : f.claims)
    rows.insert({c.ts[claim.evidence], claim.evidence});
  std::map<std::tuple<std::uint32_t, std::int64_t, std::uint32_t>, std::uint32_t> nth;
  std::map<std::tuple<std::uint32_t, double, std::uint32_t>, std::vector<std::int64_t>>
      alike;
  std::int64_t all = 0;
  for (const auto& [begin, row] : rows) {
    all += c.dur[row];
    const auto* known = t.host ? nullptr : collective_of(context, row);
    const auto bytes = known == nullptr ? -1 : static_cast<double>(known->bytes());
    std::uint32_t place = 0;
    if (bytes < 0) {
      const auto launch = t.launch_of(row);
      const auto from = launch == kNoRow ? row : launch;
      const auto step = step_of(steps, c.pid[from], c.ts[from]);
      if (step == trace::kTimeLimit) continue;
      place = nth[{c.name[row], step, t.lanes.lane[row]}]++;
    }
    alike[{c.name[row], bytes, place}].push_back(c.dur[row]);
  }
  Waiting out;
  for (const auto& [kind, lengths] : alike) {
    if (static_cast<double>(lengths.size()) < min_alike) continue;
    const auto least = *std::ranges::min_element(lengths);
    out.least = std::max(out.least, least);
    for (const auto ns : lengths) out.share += static_cast<double>(ns - least);
  }
  if (all > 0) out.share /= static_cast<double>(all);
  return out;
}

constexpr double kMostOfIt = 0.5;

// One rule: exposed communication counts if it costs much of the time, or if it shows
// that nothing overlaps. A large program with good overlap can lose much; a program
// without any is worth changing while it still loses little.
bool matters(const Context& context, std::int64_t exposed, std::int64_t comm) {
  const auto of_comm = static_cast<double>(comm);
  const auto hidden = of_comm - static_cast<double>(exposed);
  return static_cast<double>(exposed) >=
             context.limits[kExposedShare] *
                 static_cast<double>(context.timeline.span.length()) ||
         (comm >= context.limits.ns(kMinComm) &&
          hidden < context.limits[kMinOverlap] * of_comm);
}

std::vector<Claim> on_device(const Context& context, std::size_t i) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  const auto& d = t.devices[i];
  std::vector<Interval> comm;
  std::vector<Mark> marks;
  for (const auto row : d.rows) {
    if (!t.is_communication(row)) continue;
    comm.push_back({c.ts[row], c.end(row)});
    marks.push_back({comm.back(), row});
  }
  const auto computing = computation(t, d);
  const auto communicating = timeline::unite(std::move(comm));
  const auto exposed = timeline::total(timeline::subtract(communicating, computing));
  if (!matters(context, exposed, timeline::total(communicating))) return {};
  return claim_exposed(context, PatternId::kCommExposed, i, std::move(marks),
                       computing);
}

std::vector<Claim> propose(const Context& context) {
  const auto& t = context.timeline;
  std::vector<Claim> claims;
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    const auto more = on_device(context, i);
    claims.insert(claims.end(), more.begin(), more.end());
  }
  const auto hosts = comm_on_host(t);
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (!matters(context, hosts[i].exposed_ns, hosts[i].comm_ns)) continue;
    for (const auto& wait : hosts[i].waits) {
      for (const auto& left : context.ledger.idle(i, wait.time)) {
        claims.push_back(
            {PatternId::kCommExposed, 0, false, -1, left.begin, left.end, wait.row});
      }
    }
  }
  return claims;
}

// At which rates the large ones of some collectives sent, in bytes a microsecond. A
// kernel's time includes its waiting.
struct Rate {
  double mean = -1;     // of all of them; -1: none is known to be large
  bool steady = false;  // they differ little: it is the path's, without waiting
};

Rate rate_of(const Context& context, const Finding& f) {
  const auto& c = context.timeline.columns();
  double bytes = 0, time = 0;
  std::vector<double> rates;
  std::uint32_t last = kNoRow;
  for (const auto& claim : f.claims) {
    if (claim.evidence == last) continue;
    last = claim.evidence;
    const auto* collective =
        context.timeline.host ? nullptr : collective_of(context, claim.evidence);
    const auto sent = collective == nullptr ? -1 : bytes_sent(*collective);
    if (sent <= 0 || static_cast<double>(collective->bytes()) <
                         std::max(1.0, context.limits[kRateBytes])) {
      continue;
    }
    const auto us = static_cast<double>(c.dur[last]) / 1e3;
    bytes += sent;
    time += us;
    if (us > 0) rates.push_back(sent / us);
  }
  if (time <= 0) return {};
  std::ranges::sort(rates);
  const auto n = rates.size();
  return {bytes / time,
          static_cast<double>(n) >= context.limits[kMinAlike] &&
              rates[n - 1 - n / 4] <= context.limits[kSteady] * rates[n / 4]};
}

// A slow path, as opposed to a late rank: a constant low rate.
bool is_slow(const Context& context, Rate rate) {
  return rate.steady && rate.mean < context.limits[kLowRate];
}

bool waits_most_likely(const Context& context, const Finding& f, Rate rate) {
  if (is_slow(context, rate)) return false;
  return (rate.mean >= 0 && rate.mean < context.limits[kWaitRate]) ||
         waiting_of(context, f, context.limits[kMinAlike]).share > kMostOfIt;
}

std::string waits_text(const Context& context, const Finding& f, Rate rate) {
  if (is_slow(context, rate)) {
    return ", all large ones about alike: the path between the ranks is slow, or not "
           "set "
           "up as it could be.";
  }
  if (!waits_most_likely(context, f, rate)) {
    return " (waiting for the slowest rank included).";
  }
  const auto waiting = waiting_of(context, f, context.limits[kMinAlike]);
  return (waiting.share > kMostOfIt
              ? ", like ones as little as " + duration_text(waiting.least)
              : std::string()) +
         ": most of it is likely waiting for a late rank.";
}

std::string describe(const Context& context, const Finding& f) {
  if (context.timeline.host) {
    return "The main thread waited " + duration_text(f.wasted_ns) + " in " +
           count_text(f.count, "collective", "collectives") +
           " with no computation beside" + waits_text(context, f, {});
  }
  const auto rate = rate_of(context, f);
  std::string text = count_text(f.count, "collective", "collectives") + " ran for " +
                     duration_text(f.wasted_ns) + " with no computation beside " +
                     (f.count == 1 ? "it" : "them");
  if (rate.mean < 0) return text + waits_text(context, f, rate);
  char number[32];
  std::snprintf(number, sizeof number, "%.1f", rate.mean / 1e3);
  text += ", at " + std::string(number) + " GB/s";
  return text + waits_text(context, f, rate);
}

std::string advise(const Context& context, const Finding& f) {
  const auto overlap = [&]() -> std::string {
    switch (kind_of(context, f.events.front())) {
      case CollectiveKind::kAllReduce:
      case CollectiveKind::kReduceScatter:
        return "Overlap gradients' reduction with the backward pass: buckets (DDP "
               "bucket_cap_mb, FSDP), async_op=True with work between.";
      case CollectiveKind::kAllGather:
        return "Gather before it is needed: FSDP prefetch (forward_prefetch, "
               "backward_prefetch), async_op=True with work between.";
      case CollectiveKind::kAllToAll:
        return "Pipeline it with the next batch: split the batch in two, and exchange "
               "one half (async_op=True) while the other computes.";
      case CollectiveKind::kBroadcast:
      case CollectiveKind::kReduce:
      case CollectiveKind::kOther:
        break;
    }
    return "Start it earlier and wait for it later: async_op=True (isend, irecv) with "
           "work between.";
  }();
  const auto rate = context.timeline.host ? Rate{} : rate_of(context, f);
  if (is_slow(context, rate)) {
    return "Find out which path the data takes: NCCL_DEBUG=INFO prints it for each "
           "pair "
           "of ranks, `nvidia-smi topo -m` shows what there is. Inside a machine: "
           "peer-to-peer access (NCCL_P2P_DISABLE, a virtual machine or an IOMMU "
           "without it); between machines: sockets where InfiniBand or RoCE would do "
           "(NCCL_IB_DISABLE, NCCL_SOCKET_IFNAME). Then: " +
           overlap;
  }
  if (waits_most_likely(context, f, rate)) {
    return "First find out which rank is late, and why: compare the ranks' traces. "
           "Then: " +
           overlap;
  }
  return overlap + " Then check whether another rank is late.";
}

}  // namespace
}  // namespace comm_exposed

const Rule kCommExposedRule{PatternId::kCommExposed, comm_exposed::kThresholds,
                            comm_exposed::propose, comm_exposed::describe,
                            comm_exposed::advise};

}  // namespace tta::patterns
