// SPDX-License-Identifier: BSD-3-Clause
// replay/hand_over.cpp: asks of each gap who worked last before it ended.
#include "replay/hand_over.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tta::replay {
namespace {

using timeline::Interval;
using trace::Category;

// Shorter gaps are the interpreter's own; transfers take 60-200 us, seldom 7.
constexpr std::int64_t kMinHandOver = 30'000;
// Threads that hand over do not work at once: in 17 traces the overlap was 0.1 % at
// most.
constexpr double kMaxOverlap = 0.1;
constexpr std::size_t kThreads = 32;

std::int64_t overlap(const timeline::IntervalSet& a, const timeline::IntervalSet& b) {
  std::int64_t sum = 0;
  for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    sum += timeline::intersect(a[i], b[k]).length();
    a[i].end < b[k].end ? ++i : ++k;
  }
  return sum;
}

// When a thread waits for its loader. The loader's own threads (which pin memory) are
// a part of that wait: a few calls of theirs end before it does, and hand nothing over.
class Loading {
 public:
  explicit Loading(const timeline::Timeline& t) {
    for (const auto& span : t.spans.loader) {
      auto& of = spans_[t.lanes.lane[span.row]];
      if (!of.empty() && span.begin < of.back().end) continue;  // a loader in a loader
      of.push_back({span.begin, span.end});
    }
  }
  bool waits(std::uint32_t lane, std::int64_t when) const {
    const auto of = spans_.find(lane);
    if (of == spans_.end()) return false;
    const auto after = std::ranges::upper_bound(of->second, when, {}, &Interval::begin);
    return after != of->second.begin() && when <= std::prev(after)->end;
  }

 private:
  std::map<std::uint32_t, std::vector<Interval>> spans_;  // by thread
};

// A thread that may have handed over, asked about later and later moments.
class Partner {
 public:
  explicit Partner(const Activity& of) : of_(&of) {}
  std::uint32_t lane() const { return of_->lane; }
  bool runs_operators() const { return of_->runs_operators; }
  // The last stretch that begins before `when`; null if there is none.
  const Interval* last_before(std::int64_t when) {
    while (next_ < of_->time.size() && of_->time[next_].begin < when) ++next_;
    return next_ == 0 ? nullptr : &of_->time[next_ - 1];
  }

 private:
  const Activity* of_;
  std::size_t next_ = 0;
};

}  // namespace

std::vector<Activity> activity_of(const timeline::Timeline& t,
                                  const std::vector<std::uint32_t>& threads) {
  const auto& c = t.columns();
  std::vector<Activity> out;
  for (const auto lane : threads) {
    std::vector<Interval> time;
    bool operators = false;
    for (const auto row : t.lanes.rows_of(lane)) {
      const bool op = c.cat(row) == Category::kCpuOp;
      if (!op && !c.cat_info(row).runtime_api) continue;
      // A covered row adds nothing; torch 1.8 records steps as operators.
      if (!time.empty() && c.end(row) <= time.back().end) continue;
      if (op && timeline::step_number(t.trace->name(row))) continue;
      operators |= op;
      time.push_back({c.ts[row], c.end(row)});
    }
    Activity a{lane, timeline::unite(std::move(time))};
    a.total = timeline::total(a.time);
    a.runs_operators = operators;
    out.push_back(std::move(a));
  }
  return out;
}

std::vector<HandOver> find_hand_overs(const timeline::Timeline& t,
                                      std::vector<Activity> threads) {
  std::erase_if(threads, [](const Activity& a) { return a.time.empty(); });
  std::stable_sort(threads.begin(), threads.end(),
                   [](auto& a, auto& b) { return a.total > b.total; });
  if (threads.size() > kThreads) threads.resize(kThreads);
  const auto pid = [&](const Activity& a) { return t.lanes.lanes[a.lane].pid; };
  const Loading loading(t);
  std::vector<HandOver> out;
  for (const auto& to : threads) {
    std::vector<Partner> partners;
    for (const auto& from : threads) {
      if (&from == &to || pid(from) != pid(to)) continue;
      const auto least = static_cast<double>(std::min(from.total, to.total));
      if (static_cast<double>(overlap(from.time, to.time)) < kMaxOverlap * least) {
        partners.emplace_back(from);
      }
    }
    if (partners.empty()) continue;
    for (std::size_t i = 0; i < to.time.size(); ++i) {
      const auto begin = to.time[i].begin;
      const bool first = i == 0;
      const auto since = first ? t.span.begin : to.time[i - 1].end;
      if (begin - since <= kMinHandOver) continue;
      HandOver best{0, to.lane, since, begin, since, first};
      std::pair best_of{false, since};
      for (auto& from : partners) {
        const auto* last = from.last_before(begin);
        if (last == nullptr || last->end > begin || last->end <= since) continue;
        if (!from.runs_operators() && loading.waits(to.lane, last->end)) continue;
        const std::pair of{from.runs_operators(), last->end};
        if (of <= best_of) continue;
        best_of = of;
        best.from = from.lane();
        best.from_end = last->end;
      }
      if (best.from_end > since) out.push_back(best);
    }
  }
  return out;
}

}  // namespace tta::replay
