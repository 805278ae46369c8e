// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/small_collectives.cpp: collectives so small that latency is all they
// cost, one right after the other.
//
// Only a run of like collectives that the host issued back to back can be put into one:
// the next could not depend on what comes between, as nothing does. (The all-reduces of
// tensor parallelism are small too, and each is needed before the next.) One of a run
// has to stay; of each other, what exceeds the time its bytes take is lost. How long a
// collective takes includes waiting for the slowest rank, which merging would not
// change: a latency above the run's lower quartile is not counted. Nor is what
// computation hides.
#include <algorithm>
#include <array>
#include <string_view>

#include "patterns/communication.h"
#include "patterns/rule.h"

namespace tta::patterns {
namespace {

enum : std::size_t { kMinShare, kSmallBytes, kSmallShare, kMaxBetween, kBytesPerUs };
constexpr std::array kThresholds = {
    Threshold{"min_share", 0.01, "share", "a hundredth of the time is worth a line"},
    Threshold{"small_bytes", 1 << 20, "bytes", "msprof-analyze: under 1 MB over RDMA"},
    Threshold{"small_share", 0.2, "share",
              "msprof-analyze: a fifth of the communication in small messages"},
    Threshold{"max_between", 1, "count",
              "a loop over gradients scales each (one kernel); a layer between two "
              "collectives of tensor parallelism is three kernels and more"},
    Threshold{"bytes_per_us", 5000, "bytes",
              "5 GB/s, half of PCIe 3 x16: what merged messages take at most, unless "
              "the trace's own large collectives are slower"},
};

// Collectives of which several can be made one.
bool can_merge(std::string_view name) {
  for (const auto* kind :
       {"allreduce", "all_reduce", "allgather", "_allgather", "all_gather",
        "reduce_scatter", "_reduce_scatter", "broadcast", "reduce"}) {
    if (name.starts_with(kind)) return true;
  }
  return false;
}

struct Work {
  std::uint32_t row, lane;
  std::int64_t launched;
  const timeline::CollectiveArgs* collective;  // null: no communication, or unknown
  bool comm;
};

class Device {
 public:
  Device(const Context& context, std::size_t index)
      : context_(context), t_(context.timeline), c_(t_.columns()), index_(index) {}

  std::vector<Claim> claims() {
    if (!list()) return {};
    std::vector<const Work*> run;
    std::size_t between = 0;
    for (const auto& w : work_) {
      if (!run.empty() && run.back()->lane != w.lane) flush(run);
      if (!w.comm) {
        ++between;
        continue;
      }
      if (!is_small(w) || !can_merge(w.collective->name)) {
        flush(run);
      } else {
        if (!run.empty() &&
            (static_cast<double>(between) > context_.limits[kMaxBetween] ||
             !alike(*run.back(), w))) {
          flush(run);
        }
        run.push_back(&w);
      }
      between = 0;
    }
    flush(run);
    return claim_exposed(context_, PatternId::kSmallCollectives, index_,
                         std::move(excess_), computation(t_, t_.devices[index_]));
  }

 private:
  bool is_small(const Work& w) const {
    if (w.collective == nullptr) return false;
    const auto bytes = static_cast<double>(w.collective->bytes());
    return bytes >= 0 && bytes < context_.limits[kSmallBytes];
  }

  bool alike(const Work& a, const Work& b) const {
    return a.collective->name == b.collective->name &&
           a.collective->group == b.collective->group &&
           a.collective->dtype == b.collective->dtype;
  }

  // Lists the device's work as its threads launched it; false if too little of the
  // communication is small.
  bool list() {
    std::int64_t all = 0, small = 0;
    double fastest = 0;
    for (const auto row : t_.devices[index_].rows) {
      const auto launch = t_.launch_of(row);
      const bool comm = t_.is_communication(row);
      Work w{row, timeline::kNoLane, c_.ts[row], nullptr, comm};
      if (launch != kNoRow) {
        w.lane = t_.lanes.lane[launch];
        w.launched = c_.ts[launch];
      }
      if (comm) {
        w.collective = collective_of(context_, row);
        all += c_.dur[row];
        if (is_small(w)) {
          small += c_.dur[row];
        } else if (w.collective != nullptr && c_.dur[row] > 0) {
          fastest = std::max(fastest, 1e3 * static_cast<double>(w.collective->bytes()) /
                                          static_cast<double>(c_.dur[row]));
        }
      }
      if (launch != kNoRow) work_.push_back(w);
    }
    per_us_ = context_.limits[kBytesPerUs];
    if (fastest > 0) per_us_ = std::min(per_us_, fastest);
    std::stable_sort(work_.begin(), work_.end(), [](const Work& a, const Work& b) {
      return a.lane != b.lane ? a.lane < b.lane : a.launched < b.launched;
    });
    return small > 0 && static_cast<double>(small) >=
                            context_.limits[kSmallShare] * static_cast<double>(all);
  }

  // Takes the excess of a run, and empties it.
  void flush(std::vector<const Work*>& run) {
    if (run.size() > 1) {
      std::vector<std::int64_t> lengths;
      for (const auto* w : run) lengths.push_back(c_.dur[w->row]);
      const auto longest = std::max_element(lengths.begin(), lengths.end());
      const auto kept = longest - lengths.begin();
      std::vector<std::int64_t> sorted = lengths;
      const auto quartile =
          sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) / 4);
      std::nth_element(sorted.begin(), quartile, sorted.end());
      for (std::size_t i = 0; i < run.size(); ++i) {
        if (static_cast<std::ptrdiff_t>(i) == kept) continue;
        const auto bytes = static_cast<double>(run[i]->collective->bytes());
        const auto transfer = static_cast<std::int64_t>(bytes / per_us_ * 1e3);
        const auto excess = std::min(lengths[i], *quartile) - transfer;
        const auto begin = c_.ts[run[i]->row];
        if (excess > 0) excess_.push_back({{begin, begin + excess}, run[i]->row});
      }
    }
    run.clear();
  }

  const Context& context_;
  const timeline::Timeline& t_;
  const trace::Columns& c_;
  std::size_t index_;
  std::vector<Work> work_;
  double per_us_ = 0;
  std::vector<Mark> excess_;
};

std::vector<Claim> propose(const Context& context) {
  std::vector<Claim> claims;
  for (std::size_t i = 0; i < context.timeline.devices.size(); ++i) {
    const auto more = Device(context, i).claims();
    claims.insert(claims.end(), more.begin(), more.end());
  }
  return claims;
}

std::string describe(const Context& context, const Finding& f) {
  std::vector<std::int64_t> bytes;
  std::uint32_t last = kNoRow;
  for (const auto& claim : f.claims) {
    if (claim.evidence == last) continue;
    last = claim.evidence;
    if (const auto* of = collective_of(context, last)) bytes.push_back(of->bytes());
  }
  const auto middle =
      bytes.begin() + static_cast<std::ptrdiff_t>((bytes.size() - 1) / 2);
  std::nth_element(bytes.begin(), middle, bytes.end());
  return count_text(f.count, "collective", "collectives") + " of " +
         std::to_string(*middle) + " bytes (median) followed others of their kind: " +
         duration_text(f.wasted_ns) + " of latency that one large one would not have.";
}

}  // namespace

const Rule kSmallCollectivesRule{PatternId::kSmallCollectives, kThresholds, propose,
                                 describe};

}  // namespace tta::patterns
