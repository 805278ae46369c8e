// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/small_collectives/collective_runs.cpp: walks a device's work in the
// order of its launches.
#include "patterns/rules/small_collectives/collective_runs.h"

#include <algorithm>
#include <tuple>

#include "patterns/communication.h"

namespace tta::patterns {
namespace {

// Collectives of which several can be made one.
bool can_merge(CollectiveKind kind) {
  return kind != CollectiveKind::kOther && kind != CollectiveKind::kAllToAll;
}

struct Placed {
  std::uint32_t row, lane;
  std::int64_t launched;
  const timeline::CollectiveArgs* collective;  // null: no communication, or unknown
  bool comm;
  CollectiveKind kind = CollectiveKind::kOther;
  std::int64_t bytes = -1;
};

class Device {
 public:
  Device(const Context& context, std::size_t index, const SmallCollectives& small)
      : context_(context),
        t_(context.timeline),
        c_(t_.columns()),
        index_(index),
        small_(small) {}

  CollectiveRuns runs() {
    if (!list()) return {};
    std::vector<const Placed*> run;
    std::size_t between = 0;
    for (const auto& w : work_) {
      if (!run.empty() && run.back()->lane != w.lane) flush(run);
      if (!w.comm) {
        ++between;
        continue;
      }
      const bool goes_on = !run.empty() &&
                           static_cast<double>(between) <= small_.between &&
                           step_of(*run.back()) == step_of(w) && alike(*run.back(), w);
      if (is_small(w) && can_merge(w.kind)) {
        if (!goes_on) flush(run);
        run.push_back(&w);
      } else if (!goes_on || w.bytes >= 0) {
        flush(run);
      }
      between = 0;
    }
    flush(run);
    return std::move(out_);
  }

 private:
  // How many steps had begun: what one step sends, no other can wait for.
  std::ptrdiff_t step_of(const Placed& w) const {
    const auto& steps = t_.spans.steps;
    return std::upper_bound(steps.begin(), steps.end(), w.launched,
                            [](std::int64_t when, const timeline::Span& step) {
                              return when < step.begin;
                            }) -
           steps.begin();
  }

  bool is_small(const Placed& w) const {
    return w.bytes < 0 ? can_merge(w.kind) && c_.dur[w.row] < small_.time_ns
                       : static_cast<double>(w.bytes) < small_.bytes;
  }

  bool alike(const Placed& a, const Placed& b) const {
    if (a.kind != b.kind || (a.bytes < 0) != (b.bytes < 0)) return false;
    if (a.collective == nullptr || b.collective == nullptr) {
      return a.collective == b.collective && c_.name[a.row] == c_.name[b.row] &&
             t_.lanes.lane[a.row] == t_.lanes.lane[b.row];
    }
    return a.collective->name == b.collective->name &&
           a.collective->group == b.collective->group &&
           a.collective->dtype == b.collective->dtype;
  }

  // Lists the device's work as its threads launched it; false if too little of the
  // communication is small.
  bool list() {
    std::int64_t all = 0, small = 0;
    double number = 0, unsized = 0, unsized_small = 0;
    for (const auto row : t_.devices[index_].rows) {
      const auto launch = t_.launch_of(row);
      Placed w{row, timeline::kNoLane, c_.ts[row], nullptr, t_.is_communication(row)};
      if (launch != kNoRow) {
        w.lane = t_.lanes.lane[launch];
        w.launched = c_.ts[launch];
      }
      if (w.comm) {
        w.collective = collective_of(context_, row);
        w.kind = kind_of(context_, row);
        if (w.collective != nullptr) w.bytes = w.collective->bytes();
        all += c_.dur[row];
        ++number;
        unsized += w.bytes < 0 ? 1 : 0;
        unsized_small += w.bytes < 0 && is_small(w) ? 1 : 0;
        if (is_small(w)) {
          small += c_.dur[row];
        } else if (w.bytes >= 0 && c_.dur[row] > 0) {
          out_.fastest = std::max(out_.fastest, 1e3 * static_cast<double>(w.bytes) /
                                                    static_cast<double>(c_.dur[row]));
        }
      }
      if (launch != kNoRow) work_.push_back(w);
    }
    std::stable_sort(work_.begin(), work_.end(), [](const Placed& a, const Placed& b) {
      return std::tie(a.lane, a.launched) < std::tie(b.lane, b.launched);
    });
    if (small == 0) return false;
    // Told apart by their time, short ones take little of it by definition.
    if (unsized == number) return unsized_small >= small_.share * number;
    return static_cast<double>(small) >= small_.share * static_cast<double>(all);
  }

  void flush(std::vector<const Placed*>& run) {
    const bool sized = !run.empty() && run.front()->bytes >= 0;
    if (run.size() > 1 &&
        (sized || static_cast<double>(run.size()) >= small_.unsized_length)) {
      auto& out = out_.runs.emplace_back();
      for (const auto* w : run) out.push_back({w->row, w->bytes});
    }
    run.clear();
  }

  const Context& context_;
  const timeline::Timeline& t_;
  const trace::Columns& c_;
  std::size_t index_;
  const SmallCollectives& small_;
  std::vector<Placed> work_;
  CollectiveRuns out_;
};

}  // namespace

CollectiveRuns collective_runs(const Context& context, std::size_t index,
                               const SmallCollectives& small) {
  return Device(context, index, small).runs();
}

}  // namespace tta::patterns
