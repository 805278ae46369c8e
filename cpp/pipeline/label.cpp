// SPDX-License-Identifier: BSD-3-Clause
// pipeline/label.cpp: walks the windows that claims and busy time overlap.
#include "pipeline/label.h"

#include <algorithm>
#include <map>
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
void add_busy_time(const timeline::Timeline& t, std::vector<WindowRow>& rows) {
  auto row = rows.begin();
  for (const auto& d : t.devices) {
    while (row != rows.end() && row->window.device < d.device) ++row;
    auto busy = d.busy.begin();
    for (; row != rows.end() && row->window.device == d.device; ++row) {
      const timeline::Interval window{row->window.begin_ns, row->window.end_ns};
      while (busy != d.busy.end() && busy->end <= window.begin) ++busy;
      for (auto it = busy; it != d.busy.end() && it->begin < window.end; ++it) {
        row->busy_ns += timeline::intersect(*it, window).length();
      }
    }
  }
}

bool is_priced(std::span<const PatternGain> priced, patterns::PatternId pattern) {
  return std::any_of(priced.begin(), priced.end(),
                     [&](const PatternGain& g) { return g.pattern == pattern; });
}

}  // namespace

std::vector<WindowRow> label(const timeline::Timeline& t,
                             const std::vector<timeline::Window>& windows,
                             const std::vector<patterns::Claim>& claims,
                             const patterns::PatternTable& patterns, Origin origin,
                             std::span<const PatternGain> priced) {
  const OnHost on_host(t, windows);
  std::map<std::pair<std::uint32_t, patterns::PatternId>, WindowBlame> blamed;
  for (const auto& claim : claims) {
    if (!patterns[claim.pattern].user_finding || is_priced(priced, claim.pattern))
      continue;
    for_each_window(windows, on_host, claim, [&](std::uint32_t index, std::int64_t ns) {
      auto& blame = blamed[{index, claim.pattern}];
      blame.ns += ns;
      blame.saved += ns;
    });
  }
  for (const auto& of : priced) {
    for (std::uint32_t i = 0; i < of.windows.size(); ++i) {
      const auto length = windows[i].end_ns - windows[i].begin_ns;
      const auto least = kLeastLabel * static_cast<double>(length);
      if (of.windows[i].ns == 0 || static_cast<double>(of.windows[i].ns) < least)
        continue;
      blamed[{i, of.pattern}] = of.windows[i];
    }
  }
  std::vector<WindowRow> out(windows.size());
  for (std::uint32_t i = 0; i < windows.size(); ++i) {
    out[i].index = i;
    out[i].window = windows[i];
  }
  add_busy_time(t, out);
  for (const auto& [key, blame] : blamed) {
    auto& row = out[key.first];
    const auto length = static_cast<double>(row.window.end_ns - row.window.begin_ns);
    const auto saved = static_cast<double>(blame.saved) / length;
    row.labels.push_back({key.second, origin, std::min(1.0, saved), blame.ns});
    auto& side = patterns[key.second].side == patterns::PatternSide::kCpu
                     ? row.cpu_wasted_fraction
                     : row.gpu_wasted_fraction;
    side = std::min(1.0, side + static_cast<double>(blame.ns) / length);
  }
  for (auto& row : out) {
    std::stable_sort(
        row.labels.begin(), row.labels.end(),
        [](const Label& a, const Label& b) { return a.wasted_ns > b.wasted_ns; });
  }
  return out;
}

std::vector<float> shares_by_cause(const timeline::Timeline& t, const Windows& windows,
                                   const std::vector<patterns::Claim>& claims,
                                   std::span<const PatternGain> priced) {
  const auto columns = patterns::patterns().size();
  std::vector<float> out(windows.size() * columns, 0);
  const auto add = [&](std::size_t index, patterns::PatternId pattern,
                       std::int64_t ns) {
    const auto& w = windows[index];
    auto& share = out[index * columns + static_cast<std::size_t>(pattern)];
    share = std::min(
        1.0f, share + static_cast<float>(static_cast<double>(ns) /
                                         static_cast<double>(w.end_ns - w.begin_ns)));
  };
  const OnHost on_host(t, windows);
  for (const auto& claim : claims) {
    if (static_cast<std::size_t>(claim.pattern) >= columns ||
        is_priced(priced, claim.pattern)) {
      continue;
    }
    for_each_window(windows, on_host, claim, [&](std::uint32_t index, std::int64_t ns) {
      add(index, claim.pattern, ns);
    });
  }
  for (const auto& of : priced) {
    for (std::size_t i = 0; i < of.windows.size(); ++i) {
      if (static_cast<std::size_t>(of.pattern) < columns) {
        add(i, of.pattern, of.windows[i].ns);
      }
    }
  }
  return out;
}

void point_to_windows(const timeline::Timeline& t, const Windows& windows,
                      const std::vector<WindowRow>& rows,
                      std::vector<patterns::Finding>& findings) {
  const OnHost on_host(t, windows);
  for (auto& finding : findings) {
    auto& touched = finding.windows;
    for (const auto& claim : finding.claims) {
      for_each_window(windows, on_host, claim, [&](std::uint32_t index, std::int64_t) {
        if (touched.empty() || touched.back() != index) touched.push_back(index);
      });
    }
    std::sort(touched.begin(), touched.end());
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    std::erase_if(touched, [&](std::uint32_t index) {
      const auto& labels = rows[index].labels;
      return std::none_of(labels.begin(), labels.end(), [&](const Label& label) {
        return label.pattern == finding.pattern;
      });
    });
  }
}

}  // namespace tta::pipeline
