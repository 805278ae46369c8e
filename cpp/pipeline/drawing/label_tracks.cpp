// SPDX-License-Identifier: BSD-3-Clause
// pipeline/drawing/label_tracks.cpp: windows, findings and counters, a track after
// another.
#include "pipeline/drawing/label_tracks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "patterns/ledger.h"
#include "pipeline/report.h"

namespace tta::pipeline {
namespace {

// How a device's idle time and its causes change over time.

struct IdleByCause {
  struct Bin {
    std::int64_t begin = 0;
    std::vector<double> shares;  ///< Of the bin, idle by each cause; 0 to 1.
  };
  /// Patterns that claim idle time here, in the order of their table, then
  /// "unattributed".
  std::vector<std::string> causes;
  /// Equal parts of the span, then an empty one at its end; none of an empty span, nor
  /// of an unusable trace.
  std::vector<Bin> bins;
};

using timeline::Interval;
using timeline::IntervalSet;

// Idle claims of one device or process by pattern, which is a number of the table.
using Causes = std::map<std::size_t, std::vector<Interval>>;

class Bins {
 public:
  Bins(Interval span, std::size_t most)
      : span_(span), length_((span.length() + as_ns(most) - 1) / as_ns(most)) {}

  std::size_t count() const {
    return static_cast<std::size_t>((span_.length() + length_ - 1) / length_);
  }
  std::int64_t begin(std::size_t bin) const {
    return std::min(span_.begin + as_ns(bin) * length_, span_.end);
  }
  // Adds the share of each bin that a set inside the span covers.
  void spread(const IntervalSet& set, std::size_t cause, IdleByCause& out) const {
    for (const auto& time : set) {
      auto bin = static_cast<std::size_t>((time.begin - span_.begin) / length_);
      for (; bin < count() && begin(bin) < time.end; ++bin) {
        const Interval whole{begin(bin), begin(bin + 1)};
        out.bins[bin].shares[cause] +=
            static_cast<double>(timeline::intersect(time, whole).length()) /
            static_cast<double>(whole.length());
      }
    }
  }

 private:
  static std::int64_t as_ns(std::size_t n) { return static_cast<std::int64_t>(n); }
  const Interval span_;
  const std::int64_t length_;
};

// Spreads the idle time of each device, or of each process without one, over up to
// `most` (at least 1) bins; they are indexed by patterns::index_of. As in the balance,
// time neither busy nor claimed is unattributed; for a process, so is the profiler's
// time. Linear in claims, busy stretches and bins, plus sorting the claims.
std::vector<IdleByCause> idle_by_cause(const Report& report, std::size_t most) {
  const auto& t = *report.timeline;
  std::vector<IdleByCause> out(t.devices.size() + t.host.size());
  if (report.balance.empty() || t.span.length() == 0) return out;
  std::vector<Causes> causes(out.size());
  for (const auto& finding : report.findings) {
    const auto pattern = static_cast<std::size_t>(finding.pattern);
    for (const auto& claim : finding.claims) {
      if (!claim.idle && claim.device >= 0) continue;  // A process has but one time.
      const auto index = patterns::index_of(t, claim);
      if (index == timeline::HostTimes::kNone) continue;
      causes[index][pattern].push_back({claim.begin, claim.end});
    }
  }
  // It belongs to no finding and is kept for devices only.
  const auto profiler =
      static_cast<std::size_t>(patterns::PatternId::kProfilerArtifact);
  for (std::size_t index = 0; index < report.profiler_idle.size(); ++index) {
    const auto& idle = report.profiler_idle[index];
    if (!idle.empty()) causes[index][profiler] = idle;
  }
  const Bins bins(t.span, most);
  for (std::size_t index = 0; index < out.size(); ++index) {
    auto& idle = out[index];
    for (std::size_t bin = 0; bin <= bins.count(); ++bin) {
      idle.bins.push_back(
          {bins.begin(bin), std::vector<double>(causes[index].size() + 1)});
    }
    auto known = index < t.devices.size() ? t.devices[index].busy
                                          : t.host[index - t.devices.size()].busy;
    for (auto& [pattern, times] : causes[index]) {
      known.insert(known.end(), times.begin(), times.end());
      const auto cause = idle.causes.size();
      idle.causes.emplace_back(report.patterns.rows()[pattern].name);
      bins.spread(timeline::clip(timeline::unite(std::move(times)), t.span), cause,
                  idle);
    }
    const auto rest = timeline::subtract({t.span}, timeline::unite(std::move(known)));
    bins.spread(rest, idle.causes.size(), idle);
    idle.causes.emplace_back("unattributed");
  }
  return out;
}

using write::json_string;
using write::microseconds;

constexpr std::int64_t kFirstPid = 1'000'000'000;  // beyond what systems give

std::string decimal(double value, int digits) {
  char text[40];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

class Tracks {
 public:
  Tracks(const Report& report, const std::vector<FindingText>& texts,
         write::EventList& list)
      : r_(report), t_(*report.timeline), texts_(texts), list_(list) {
    if (texts.size() != report.findings.size()) {
      throw std::invalid_argument("there must be a text for each finding");
    }
    const auto& pids = t_.columns().pid;
    const std::unordered_set<std::int64_t> taken(pids.begin(), pids.end());
    auto pid = kFirstPid;
    while (taken.contains(pid)) ++pid;
    pid_ = std::to_string(pid);
    std::map<std::int32_t, int> with;  // devices with a number
    for (const auto& d : t_.devices) ++with[d.number];
    for (const auto& d : t_.devices) {
      devices_[d.device] = "GPU " + std::to_string(d.number) +
                           (with[d.number] > 1 ? " of " + process(d.pid) : "");
    }
  }

  void run() {
    metadata("process_name", 0, "\"name\": \"torchtraceap\"");
    metadata("process_labels", 0, "\"labels\": \"what the analysis found\"");
    metadata("process_sort_index", 0, "\"sort_index\": -1");
    windows();
    findings();
    counters();
  }

 private:
  void metadata(const char* what, int tid, const std::string& args) {
    list_.row('M', "\"name\": " + json_string(what) + ", \"pid\": " + pid_ +
                       ", \"tid\": " + std::to_string(tid) + ", \"args\": {" + args +
                       "}");
  }
  // Adds a track below those there are.
  int track(const std::string& name) {
    metadata("thread_name", ++last_, "\"name\": " + json_string(name));
    metadata("thread_sort_index", last_, "\"sort_index\": " + std::to_string(last_));
    return last_;
  }
  void slice(int tid, const std::string& name, Interval time, const std::string& args) {
    list_.row('X', "\"name\": " + json_string(name) + ", \"pid\": " + pid_ +
                       ", \"tid\": " + std::to_string(tid) +
                       ", \"ts\": " + microseconds(time.begin) + ", \"dur\": " +
                       microseconds(time.length()) + ", \"args\": " + args);
  }
  void count(const std::string& name, std::int64_t at, const std::string& args) {
    list_.row('C', "\"name\": " + json_string(name) + ", \"pid\": " + pid_ +
                       ", \"tid\": 0, \"ts\": " + microseconds(at) + ", \"args\": {" +
                       args + "}");
  }

  std::string device(std::int32_t key) const {
    const auto at = devices_.find(key);
    return at == devices_.end() ? "GPU" : at->second;
  }
  std::string process(std::int64_t pid) const {
    return pid == trace::kNoId ? "process" : "process " + t_.trace->identity(pid);
  }
  std::string owner(std::size_t index) const {
    return index < t_.devices.size() ? device(t_.devices[index].device)
                                     : process(t_.host[index - t_.devices.size()].pid);
  }

  void windows() {
    std::string before;
    int tid = 0;
    for (const auto& row : r_.windows) {
      const auto& w = r_.tiles[row.index];
      const auto whose = w.device >= 0 ? device(w.device) : process(w.pid);
      if (tid == 0 || whose != before) tid = track(whose + ": windows");
      before = whose;
      slice(tid, window_name(row), {w.begin_ns, w.end_ns}, window_args(row));
    }
  }
  std::string window_name(const Window& row) const {
    std::string out;
    for (const auto& label : row.labels) {
      out += (out.empty() ? "" : ", ") + label.pattern + " " +
             decimal(100 * label.saved_fraction, 1) + " %";
    }
    return out.empty() ? "no label" : out;
  }
  std::string window_args(const Window& row) const {
    std::string labels;
    std::int64_t wasted = 0;
    for (const auto& label : row.labels) {
      labels += (labels.empty() ? "" : ", ") + json_string(label.pattern) +
                ": {\"wasted_us\": " + microseconds(label.wasted_ns) +
                ", \"wasted_fraction\": " + decimal(label.wasted_fraction, 4) +
                ", \"saved_fraction\": " + decimal(label.saved_fraction, 4) + "}";
      wasted += label.wasted_ns;
    }
    return "{\"window\": " + std::to_string(row.index) +
           (row.step ? ", \"step\": " + std::to_string(*row.step) : "") +
           ", \"wasted_us\": " + microseconds(wasted) +
           ", \"busy_us\": " + microseconds(row.busy_ns) +
           ", \"cpu_wasted_fraction\": " + decimal(row.cpu_wasted_fraction, 4) +
           ", \"gpu_wasted_fraction\": " + decimal(row.gpu_wasted_fraction, 4) +
           ", \"labels\": {" + labels + "}}";
  }

  // Claims of one device or process overlap nowhere: the ledger sees to it.
  void findings() {
    using Key = std::pair<std::size_t, std::size_t>;  // whose, pattern
    std::vector<Key> order;                           // the most costly pattern first
    std::map<Key, std::vector<std::pair<Interval, std::uint32_t>>> stretches;
    for (std::uint32_t f = 0; f < r_.findings.size(); ++f) {
      std::map<std::size_t, std::vector<Interval>> of;
      for (const auto& claim : r_.findings[f].claims) {
        of[patterns::index_of(t_, claim)].push_back({claim.begin, claim.end});
      }
      for (auto& [index, times] : of) {
        if (index == timeline::HostTimes::kNone) continue;
        const Key key{index, static_cast<std::size_t>(r_.findings[f].pattern)};
        auto& all = stretches[key];
        if (all.empty()) order.push_back(key);
        for (const auto& time : timeline::unite(std::move(times))) {
          all.emplace_back(time, f);
        }
      }
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const Key& a, const Key& b) { return a.first < b.first; });
    for (const auto& key : order) {
      auto& all = stretches[key];
      std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
        return a.first.begin < b.first.begin;
      });
      const auto tid = track(owner(key.first) + ": " +
                             std::string(r_.patterns.rows()[key.second].name));
      for (const auto& [time, f] : all)
        slice(tid, texts_[f].name, time, texts_[f].args);
    }
  }

  void counters() {
    // A hostile trace may have as many processes as events.
    const auto owners = std::max<std::size_t>(1, t_.devices.size() + t_.host.size());
    const auto idle =
        idle_by_cause(r_, std::clamp<std::size_t>(100'000 / owners, 1, 1000));
    for (std::size_t i = 0; i < idle.size(); ++i) idle_counter(owner(i), idle[i]);
    for (const auto& d : t_.devices) depth_counter(device(d.device), d.queue);
  }
  void idle_counter(const std::string& whose, const IdleByCause& idle) {
    std::string before;
    for (const auto& bin : idle.bins) {
      std::string args;
      for (std::size_t i = 0; i < idle.causes.size(); ++i) {
        args += (i == 0 ? "" : ", ") + json_string(idle.causes[i]) + ": " +
                decimal(100 * bin.shares[i], 2);
      }
      if (args != before) count(whose + ": idle by cause (%)", bin.begin, args);
      before = std::move(args);
    }
  }
  void depth_counter(const std::string& whose, const timeline::QueueDepth& queue) {
    for (std::size_t i = 0; i < queue.at.size(); ++i) {
      // Of one moment, what came of it.
      if (i + 1 < queue.at.size() && queue.at[i + 1] == queue.at[i]) continue;
      count(whose + ": launches waiting", queue.at[i],
            "\"launches\": " + std::to_string(queue.depth[i]));
    }
  }

  const Report& r_;
  const timeline::Timeline& t_;
  const std::vector<FindingText>& texts_;
  write::EventList& list_;
  std::string pid_;
  std::map<std::int32_t, std::string> devices_;  // names, by key
  int last_ = 0;
};

}  // namespace

void write_label_tracks(const Report& report, const std::vector<FindingText>& findings,
                        write::EventList& list) {
  Tracks(report, findings, list).run();
}

}  // namespace tta::pipeline
