// SPDX-License-Identifier: BSD-3-Clause
// replay/calibration.cpp: collects samples of each, and takes their middle.
#include "replay/calibration.h"

#include <algorithm>
#include <vector>

namespace tta::replay {
namespace {

// A stream is busy for sure if its launch ended so long before the work ahead of it.
constexpr std::int64_t kQueuedFor = 20'000;
// Beyond these a sample is something else: a missing dependency, a module being loaded,
// work from before the window.
constexpr std::int64_t kMaxGap = 20'000;
constexpr std::int64_t kMaxLaunch = 100'000;
constexpr std::int64_t kMaxBack = 200'000;
// Of one name pair: fewer samples say less than all pairs of the kind together.
constexpr std::size_t kMinSamples = 3;
// Below the median: a constant that is too long contradicts every shorter sample, one
// that is a little short adds up only where the host is the limit anyway.
constexpr double kLow = 0.25, kLowest = 0.2;
// At most this share starts sooner than a latency that is not a clock error.
constexpr double kSooner = 0.01;

using Samples = std::vector<std::int64_t>;

std::int64_t quantile(Samples& s, double q) {
  const auto at = static_cast<std::ptrdiff_t>(q * static_cast<double>(s.size() - 1));
  std::nth_element(s.begin(), s.begin() + at, s.end());
  return s[static_cast<std::size_t>(at)];
}

std::int64_t mean(const Samples& s) {
  std::int64_t sum = 0;
  for (const auto x : s) sum += x;
  const auto n = static_cast<std::int64_t>(s.size());
  return sum >= 0 ? (sum + n / 2) / n : (sum - n / 2) / n;
}

// What queued work takes to follow; the few that something else held up, not among it.
std::int64_t usual_gap(Samples& s, bool held_up_too) {
  if (!held_up_too) {
    const auto most = quantile(s, 0.5) + kExplained;
    std::erase_if(s, [&](std::int64_t ns) { return ns > most; });
  }
  return mean(s);
}

// Samples of one launch latency, from one end of the call: of work that found its
// stream idle, and of any work, which never starts sooner than the latency.
struct Launches {
  Samples idle, any;
  std::int64_t latency() {
    return std::min(quantile(idle, kLow), quantile(any, kSooner));
  }
  // What the latency leaves unexplained of the usual start.
  std::int64_t rest() { return quantile(idle, 0.5) - latency(); }
};

// What calls take to return: the median, where they take about the same; where they
// differ (117 to 179 us of one kind of call on a V100), so little that no more than a
// fifth of them contradict it.
std::int64_t usual_return(Samples& s) {
  return std::min(quantile(s, 0.5), quantile(s, kLowest) + kExplained);
}

// Of each call: the thread had made a stream wait since its launch before, so that what
// comes before this one's work on its stream is not all that it waited for.
std::vector<char> tied_calls(const Calls& calls, const Tasks& tasks) {
  std::vector<char> out(calls.all.size(), 0);
  for (std::size_t thread = 0; thread < calls.threads.size(); ++thread) {
    bool waits = false;
    for (auto i = calls.first[thread]; i < calls.first[thread + 1]; ++i) {
      waits = waits || calls.all[i].kind == CallKind::kStreamWait;
      if (tasks.of_call[i] == 0) continue;
      out[i] = waits;
      waits = false;
    }
  }
  return out;
}

template <class Map, class Key>
typename Map::mapped_type or_else(const Map& map, const Key& key,
                                  typename Map::mapped_type otherwise) {
  const auto it = map.find(key);
  return it == map.end() ? otherwise : it->second;
}

}  // namespace

Calibration::Calibration(const timeline::Timeline& t, const Constants& constants,
                         const Calls& calls, const Tasks& tasks,
                         const std::vector<SyncCall>& waits, bool overlaps_kept)
    : constants_(constants) {
  const auto& c = t.columns();
  std::map<std::pair<CallAndKind, bool>, Launches> from_begin, from_end;
  std::map<std::tuple<std::uint32_t, std::uint32_t, bool>, Samples> gap;
  std::map<std::tuple<TaskKind, TaskKind, bool>, Samples> kind_gap;
  std::map<std::uint32_t, Samples> typical, wait_cost;
  std::map<CallAndKind, Samples> back;
  tied_ = tied_calls(calls, tasks);
  // The mean, as errors add up along a stream: over all that the constant replaces and
  // nothing else. Overlaps (most pairs of graphs on B300), and the few gaps that are
  // longer than usual, are copied one by one or are part of it, never both.
  const auto is_gap = [&](std::int64_t apart) {
    return std::abs(apart) <= kMaxGap && (apart >= 0 || !overlaps_kept);
  };
  for (const auto& call : calls.all) {
    typical[c.name[call.row]].push_back(call.end - call.begin);
  }
  for (std::size_t s = 0; s < tasks.streams.size(); ++s) {
    const Task* before = nullptr;
    for (auto i = tasks.first[s]; i < tasks.first[s + 1]; ++i) {
      const auto& task = tasks.all[i];
      if (task.call != kNone) {
        const auto& call = calls.all[task.call];
        const auto took = task.begin - call.begin;
        if (task.first_of_call && took >= 0) {
          const bool idle = before == nullptr || before->end <= call.begin;
          const bool rested = before == nullptr || before->end + kRest <= call.begin;
          const std::pair key{CallAndKind{c.name[call.row], task.kind, task.copy},
                              rested};
          const auto sample = [&](Launches& of, std::int64_t ns) {
            of.any.push_back(ns);
            if (idle && took <= kMaxLaunch) of.idle.push_back(ns);
          };
          sample(from_begin[key], took);
          // What starts before its call returns has a latency of its own (work.cpp).
          if (task.begin >= call.end) sample(from_end[key], task.begin - call.end);
        }
      }
      if (before != nullptr && queued(calls, *before, task) &&
          is_gap(task.begin - before->end)) {
        const auto apart = task.begin - before->end;
        gap[{c.name[before->row], c.name[task.row], task.beside}].push_back(apart);
        kind_gap[{before->kind, task.kind, task.beside}].push_back(apart);
      }
      before = &task;
    }
  }
  for (const auto& wait : waits) {
    if (wait.contradicted) continue;
    const auto& call = calls.all[wait.call];
    std::int64_t latest = call.begin;
    for (const auto i : wait.targets) latest = std::max(latest, tasks.all[i].end);
    if (latest == call.begin) {
      if (!wait.copied) wait_cost[c.name[call.row]].push_back(call.end - call.begin);
      continue;
    }
    const auto* copy = wait.copy == kNone ? nullptr : &tasks.all[wait.copy];
    const auto kind = copy == nullptr ? CopyKind::kNotToHost : copy->copy;
    if (call.end - latest <= kMaxBack) {
      back[{c.name[call.row], TaskKind::kCopy, kind}].push_back(call.end - latest);
    }
  }
  for (auto& [key, begin] : from_begin) {
    if (begin.idle.empty()) continue;
    // Some calls hand over at their end, whatever they did before (copies on B200:
    // 12 or 27 us from the begin, 2 us from the end).
    auto& end = from_end[key];
    const bool ends = !end.idle.empty() && end.rest() < begin.rest();
    launch_[key] = {ends ? end.latency() : begin.latency(), ends};
  }
  for (auto& [key, s] : typical) typical_[key] = quantile(s, 0.5);
  for (auto& [key, s] : wait_cost) wait_cost_[key] = quantile(s, kLowest);
  for (auto& [key, s] : back) back_[key] = usual_return(s);
  for (auto& [key, s] : kind_gap) kind_gap_[key] = usual_gap(s, !overlaps_kept);
  for (auto& [key, s] : gap) {
    if (s.size() >= kMinSamples) gap_[key] = usual_gap(s, !overlaps_kept);
  }
}

bool Calibration::queued(const Calls& calls, const Task& before,
                         const Task& task) const {
  if (task.call == kNone) return task.queued_before;
  return !tied_[task.call] && calls.all[task.call].end + kQueuedFor <= before.end;
}

bool Calibration::held_up(const Calls& calls, const Task& before, const Task& task,
                          std::int64_t gap) const {
  const auto apart = task.begin - before.end;
  return !tied_.empty() && apart > gap + kExplained && apart <= kMaxGap &&
         queued(calls, before, task);
}

Latency Calibration::launch(std::uint32_t call_name, const Task& task,
                            bool rested) const {
  const CallAndKind key{call_name, task.kind, task.copy};
  const auto otherwise =
      or_else(launch_, std::pair{key, !rested}, Latency{constants_.launch, false});
  return or_else(launch_, std::pair{key, rested}, otherwise);
}

std::int64_t Calibration::typical(std::uint32_t call_name) const {
  return or_else(typical_, call_name, -1);
}

std::int64_t Calibration::gap(std::uint32_t name_before, std::uint32_t name,
                              const Task& before, const Task& task) const {
  const auto of_kind = [&](bool beside, std::int64_t otherwise) {
    return or_else(kind_gap_, std::tuple{before.kind, task.kind, beside}, otherwise);
  };
  return or_else(gap_, std::tuple{name_before, name, task.beside},
                 of_kind(task.beside, of_kind(!task.beside, constants_.gap)));
}

std::int64_t Calibration::back(std::uint32_t call_name, const Task* copy) const {
  const auto kind = copy == nullptr ? CopyKind::kNotToHost : copy->copy;
  return or_else(back_, CallAndKind{call_name, TaskKind::kCopy, kind}, constants_.back);
}

std::int64_t Calibration::wait_cost(std::uint32_t call_name) const {
  return or_else(wait_cost_, call_name, constants_.wait_cost);
}

}  // namespace tta::replay
