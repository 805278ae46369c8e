// SPDX-License-Identifier: BSD-3-Clause
// timeline/rank_processes.cpp: pids of one label, and what one process feeds, together.
#include "timeline/rank_processes.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "timeline/arg_keys.h"
#include "trace/args.h"

namespace tta::timeline {
namespace {

// Of a device's launches, by other processes: a few meet another's id by chance.
constexpr double kShared = 0.05;

// "[TP00-DP01] 4000" and "rank 3: python" have one, "python" does not.
std::string label_in(std::string_view text) {
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    return end == text.npos ? "" : std::string(text.substr(1, end - 1));
  }
  constexpr std::string_view kRank = "rank";
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == b;
  };
  if (text.size() <= kRank.size() ||
      !std::equal(kRank.begin(), kRank.end(), text.begin(),
                  [&](char b, char a) { return same(a, b); })) {
    return "";
  }
  auto at = kRank.size();
  while (at < text.size() && (text[at] == ' ' || text[at] == '_' || text[at] == '-')) {
    ++at;
  }
  auto end = at;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  return std::string(text.substr(at, end - at));
}

// Labels of the pids that have one, by what the file calls them or their process.
std::map<std::int64_t, std::string> labels_of(const trace::Trace& trace) {
  const auto& c = trace.columns;
  std::map<std::int64_t, std::string> out;
  const auto named = trace.strings.find("process_name");
  std::vector<std::uint32_t> rows;
  std::vector<char> seen(trace.strings.size(), 0);
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (c.pid[row] >= trace::kTextIdentity) {
      auto& known = seen[c.pid[row] - trace::kTextIdentity];
      if (!known) out.try_emplace(c.pid[row]);
      known = 1;
    }
    if (c.phase[row] == 'M' && c.name[row] == named) rows.push_back(row);
  }
  for (auto& [pid, label] : out) label = label_in(trace.identity(pid));
  const auto texts = trace.read_args(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto& label = out[c.pid[rows[i]]];
    if (label.empty()) {
      label = label_in(trace::string_arg(texts[i], kThreadName).value_or(""));
    }
  }
  std::erase_if(out, [](const auto& each) { return each.second.empty(); });
  return out;
}

// Disjoint sets of pids.
class Groups {
 public:
  std::int64_t of(std::int64_t pid) {
    auto& above = above_.try_emplace(pid, pid).first->second;
    return above == pid ? pid : above = of(above);
  }
  void join(std::int64_t a, std::int64_t b) { above_[of(a)] = of(b); }
  std::map<std::int64_t, std::vector<std::int64_t>> all() {
    std::map<std::int64_t, std::vector<std::int64_t>> out;
    for (const auto& [pid, above] : above_) out[of(above)].push_back(pid);
    return out;
  }

 private:
  std::map<std::int64_t, std::int64_t> above_;
};

// Those that ran an operator or a runtime call.
std::set<std::int64_t> workers_of(const Timeline& t) {
  std::set<std::int64_t> out;
  for (const auto& lane : t.lanes.threads()) {
    const auto works = [&](std::uint32_t row) { return t.is_work(row); };
    if (!out.contains(lane.pid) && std::ranges::any_of(t.lanes.rows_of(lane), works)) {
      out.insert(lane.pid);
    }
  }
  return out;
}

}  // namespace

std::vector<RankProcesses> rank_processes(const Timeline& t) {
  const auto& c = t.columns();
  const auto workers = workers_of(t);
  const auto shared = [](const DeviceTime& d) { return d.foreign_share >= kShared; };
  if (workers.size() < 2 || std::ranges::any_of(t.devices, shared)) return {};
  const auto labels = labels_of(*t.trace);
  Groups groups;
  std::map<std::string, std::int64_t> with;
  for (const auto& [pid, label] : labels) {
    groups.join(pid, with.try_emplace(label, pid).first->second);
  }
  for (const auto pid : workers) groups.of(pid);
  for (const auto& device : t.devices) {
    if (device.pid != trace::kNoId) groups.join(c.pid[device.rows.front()], device.pid);
  }
  std::vector<RankProcesses> out;
  for (auto& [first, pids] : groups.all()) {
    const auto worker = std::ranges::find_if(
        pids, [&](std::int64_t pid) { return workers.contains(pid); });
    if (worker == pids.end()) continue;
    std::string label;
    for (const auto pid : pids) {
      const auto known = labels.find(pid);
      if (known != labels.end()) label = known->second;
    }
    out.push_back({label, std::move(pids)});
  }
  if (out.size() < 2) return {};
  std::ranges::sort(out, {}, [&](const RankProcesses& rank) {
    const auto worker = std::ranges::find_if(
        rank.pids, [&](std::int64_t pid) { return workers.contains(pid); });
    return std::tuple(rank.label.size(), rank.label, *worker);
  });
  return out;
}

}  // namespace tta::timeline
