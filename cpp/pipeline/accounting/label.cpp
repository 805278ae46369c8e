// SPDX-License-Identifier: BSD-3-Clause
// pipeline/accounting/label.cpp: walks the windows that claims and busy time overlap.
#include "pipeline/accounting/label.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "patterns/ledger.h"

namespace tta::pipeline {
namespace {

using Windows = std::vector<timeline::Window>;

// Where the windows of each process of a trace without device work are, in the list.
class OnHost {
 public:
  explicit OnHost(const timeline::Timeline& t, const Windows& windows)
      : t_(t), first_(t.host.size() + 1, windows.size()) {
    // They come in the processes' order, and each has some.
    for (std::size_t i = windows.size(); t.host && i-- > 0;) {
      first_[t.host.index_of(windows[i].pid)] = i;
    }
  }

  // The windows a claim may touch: its process's, or all.
  std::pair<std::size_t, std::size_t> of(const patterns::Claim& claim) const {
    if (!t_.host) return {0, first_.back()};
    const auto i = patterns::index_of(t_, claim);
    if (i == timeline::HostTimes::kNone) return {0, 0};
    return {first_[i], first_[i + 1]};
  }

 private:
  const timeline::Timeline& t_;
  std::vector<std::size_t> first_;
};

// Calls visit(index, overlap_ns) for each window of the claim's device or process that
// it touches. Windows are ordered by that, then time, and tile the span of each.
template <typename Visit>
void for_each_window(const Windows& windows, const OnHost& on_host,
                     const patterns::Claim& claim, Visit&& visit) {
  const auto at_or_after = [](const timeline::Window& w, const patterns::Claim& c) {
    return w.device != c.device ? w.device < c.device : w.end_ns <= c.begin;
  };
  const auto [first, last] = on_host.of(claim);
  const auto at = [&](std::size_t i) {
    return windows.begin() + static_cast<std::ptrdiff_t>(i);
  };
  auto it = std::lower_bound(at(first), at(last), claim, at_or_after);
  for (; it != at(last) && it->device == claim.device && it->begin_ns < claim.end;
       ++it) {
    visit(static_cast<std::uint32_t>(it - windows.begin()),
          std::min(it->end_ns, claim.end) - std::max(it->begin_ns, claim.begin));
  }
}

// Walks the devices, and each one's busy time, once: windows come in the same order.
void add_busy_time(const timeline::Timeline& t, const Windows& windows,
                   std::vector<Window>& rows) {
  std::size_t i = 0;
  for (const auto& d : t.devices) {
    while (i < windows.size() && windows[i].device < d.device) ++i;
    auto busy = d.busy.begin();
    for (; i < windows.size() && windows[i].device == d.device; ++i) {
      const timeline::Interval window{windows[i].begin_ns, windows[i].end_ns};
      while (busy != d.busy.end() && busy->end <= window.begin) ++busy;
      for (auto it = busy; it != d.busy.end() && it->begin < window.end; ++it) {
        rows[i].busy_ns += timeline::intersect(*it, window).length();
      }
    }
  }
}

bool is_priced(std::span<const PatternGain> priced, patterns::PatternId pattern) {
  return std::any_of(priced.begin(), priced.end(),
                     [&](const PatternGain& g) { return g.pattern == pattern; });
}

double share(std::int64_t ns, const timeline::Window& w) {
  return std::min(1.0,
                  static_cast<double>(ns) / static_cast<double>(w.end_ns - w.begin_ns));
}

// What was replayed is a part of the whole window, what was claimed lies somewhere in
// it: where both together are more than there is, the former is the less certain.
void fit_into_windows(const Windows& windows, WasteByWindow& wasted) {
  for (auto it = wasted.begin(); it != wasted.end();) {
    const auto index = it->first.first;
    std::int64_t claimed = 0, priced = 0;
    const auto first = it;
    for (; it != wasted.end() && it->first.first == index; ++it) {
      (it->second.priced ? priced : claimed) += it->second.ns;
    }
    const auto room = windows[index].end_ns - windows[index].begin_ns - claimed;
    if (priced <= std::max<std::int64_t>(0, room)) continue;
    const auto part = static_cast<double>(std::max<std::int64_t>(0, room)) /
                      static_cast<double>(priced);
    for (auto own = first; own != it; ++own) {
      auto& waste = own->second;
      if (!waste.priced) continue;
      waste.ns = static_cast<std::int64_t>(static_cast<double>(waste.ns) * part);
    }
  }
}

// What was replayed counts from kLeastLabel on; of the rest, what is a finding.
bool is_label(const WindowWaste& waste, const timeline::Window& w,
              const patterns::PatternInfo& info) {
  if (!waste.priced) return info.user_finding;
  const auto length = static_cast<double>(w.end_ns - w.begin_ns);
  return waste.ns != 0 && static_cast<double>(waste.ns) >= kLeastLabel * length;
}

}  // namespace

WasteByWindow waste_by_window(const timeline::Timeline& t, const Windows& windows,
                              const std::vector<patterns::Claim>& claims,
                              std::span<const PatternGain> priced) {
  const OnHost on_host(t, windows);
  WasteByWindow out;
  for (const auto& claim : claims) {
    if (is_priced(priced, claim.pattern)) continue;
    for_each_window(windows, on_host, claim, [&](std::uint32_t index, std::int64_t ns) {
      auto& waste = out[{index, claim.pattern}];
      waste.ns += ns;
      waste.saved += ns;
    });
  }
  for (const auto& of : priced) {
    for (std::uint32_t i = 0; i < of.windows.size(); ++i) {
      if (of.windows[i].ns != 0) out[{i, of.pattern}] = {of.windows[i], true};
    }
  }
  fit_into_windows(windows, out);
  return out;
}

std::vector<Window> label(const timeline::Timeline& t, const Windows& windows,
                          const WasteByWindow& wasted,
                          const patterns::PatternTable& patterns, Origin origin) {
  std::vector<Window> out(windows.size());
  for (std::uint32_t i = 0; i < windows.size(); ++i) {
    const auto& w = windows[i];
    out[i].index = i;
    out[i].start_ns = w.begin_ns;
    out[i].end_ns = w.end_ns;
    if (w.step != timeline::kNoStep) out[i].step = w.step;
    if (w.number >= 0) out[i].device = w.number;
    out[i].pid = process_of(*t.trace, w.pid);
    out[i].events = w.events;
  }
  add_busy_time(t, windows, out);
  for (const auto& [key, waste] : wasted) {
    auto& row = out[key.first];
    const auto& window = windows[key.first];
    const auto& info = patterns[key.second];
    if (!is_label(waste, window, info)) continue;
    const auto part = share(waste.ns, window);
    row.labels.push_back({std::string(info.name), info.side, part,
                          share(waste.saved, window), origin, waste.ns, std::nullopt});
    auto& side = info.side == patterns::PatternSide::kCpu ? row.cpu_wasted_fraction
                                                          : row.gpu_wasted_fraction;
    side = std::min(1.0, side + part);
  }
  for (auto& row : out) {
    // Which of several causes has a moment says less of them than what each would save.
    std::ranges::stable_sort(row.labels, std::ranges::greater(), [](const Label& of) {
      return std::pair(of.saved_fraction, of.wasted_ns);
    });
  }
  return out;
}

std::vector<float> shares_by_cause(const Windows& windows,
                                   const WasteByWindow& wasted) {
  const auto columns = patterns::patterns().size();
  std::vector<float> out(windows.size() * columns, 0);
  for (const auto& [key, waste] : wasted) {
    const auto column = static_cast<std::size_t>(key.second);
    if (column >= columns) continue;
    out[key.first * columns + column] =
        static_cast<float>(share(waste.saved, windows[key.first]));
  }
  return out;
}

void point_to_windows(const timeline::Timeline& t, Report& report) {
  const auto& windows = report.tiles;
  const OnHost on_host(t, windows);
  for (auto& finding : report.findings) {
    auto& touched = finding.windows;
    for (const auto& claim : finding.claims) {
      for_each_window(windows, on_host, claim, [&](std::uint32_t index, std::int64_t) {
        if (touched.empty() || touched.back() != index) touched.push_back(index);
      });
    }
    std::sort(touched.begin(), touched.end());
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    std::erase_if(touched, [&](std::uint32_t index) {
      const auto& labels = report.windows[index].labels;
      return std::none_of(labels.begin(), labels.end(), [&](const Label& label) {
        return label.pattern == report.patterns[finding.pattern].name;
      });
    });
  }
}

}  // namespace tta::pipeline
