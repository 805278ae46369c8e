// SPDX-License-Identifier: BSD-3-Clause
// features/whole.cpp: one walk over the lanes.
#include "features/whole.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "features/feature_table.h"
#include "timeline/median.h"
#include "timeline/windows.h"

namespace tta::features {

namespace {

using timeline::kNoRow;

// The median length of the rows of each name. Lengths lie name after name in one
// vector.
std::vector<std::int64_t> medians(const trace::Trace& t,
                                  const std::vector<std::uint32_t>& rows) {
  const auto& c = t.columns;
  std::vector<std::size_t> end(t.strings.size() + 1, 0);
  for (const auto row : rows) ++end[c.name[row] + 1];
  for (std::size_t i = 1; i < end.size(); ++i) end[i] += end[i - 1];
  std::vector<std::int64_t> lengths(rows.size());
  auto at = end;
  for (const auto row : rows) lengths[at[c.name[row]]++] = c.dur[row];
  std::vector<std::int64_t> out(t.strings.size(), -1);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto first = lengths.begin() + static_cast<std::ptrdiff_t>(end[i]);
    const auto last = lengths.begin() + static_cast<std::ptrdiff_t>(end[i + 1]);
    if (first == last) continue;
    const auto middle = first + (last - first - 1) / 2;
    std::nth_element(first, middle, last);
    out[i] = *middle;
  }
  return out;
}

}  // namespace

Usual usual_of(const timeline::Timeline& t, const std::vector<Kind>& kinds) {
  const auto& c = t.columns();
  Usual out;
  out.first.assign(t.trace->strings.size(), std::numeric_limits<std::int64_t>::max());
  std::vector<std::uint32_t> host, device;
  std::vector<char> calls_another(c.size(), 0);
  for (const auto row : t.lanes.rows) {
    if (!timeline::counts_in_windows(c.cat(row))) continue;
    auto& first = out.first[c.name[row]];
    first = std::min(first, c.ts[row]);
    const bool on_stream = t.lanes.on_stream(row);
    (on_stream ? device : host).push_back(row);
    if (on_stream) continue;
    const auto parent = t.tree.parent[row];
    if (parent != kNoRow && is_operator(kinds[row])) calls_another[parent] = 1;
  }
  out.on_host = medians(*t.trace, host);
  out.on_device = medians(*t.trace, device);

  // By how well they represent the cost of a launch.
  std::vector<std::int64_t> launches, calls, leaves, any;
  for (const auto row : host) {
    const auto kind = kinds[row];
    any.push_back(c.dur[row]);
    if (kind == Kind::kLaunch) {
      launches.push_back(c.dur[row]);
    } else if (is_call(kind) && kind != Kind::kWait) {
      calls.push_back(c.dur[row]);
    } else if (is_operator(kind) && !calls_another[row]) {
      leaves.push_back(c.dur[row]);
    }
  }
  for (auto* lengths : {&launches, &calls, &leaves, &any}) {
    if (out.launch_cost > 0 || lengths->empty()) continue;
    out.launch_cost = timeline::lower_median(std::move(*lengths));
  }
  auto scale = out.launch_cost;
  if (scale == 0 && !device.empty()) {
    std::vector<std::int64_t> lengths;
    for (const auto row : device) lengths.push_back(c.dur[row]);
    scale = timeline::lower_median(std::move(lengths));
  }
  if (scale > 0) out.least = static_cast<double>(scale) / 16;
  return out;
}

namespace {

constexpr std::array<std::string_view, 22> kTellNothing = {
    "void",   "at",         "native", "anonymous", "namespace", "const",
    "char",   "int",        "long",   "unsigned",  "std",       "detail",
    "lambda", "operator",   "auto",   "array",     "trivial",   "offset",
    "bool",   "calculator", "memory", "default"};

}  // namespace

Pieces pieces_of(std::string_view name) {
  Pieces out{};
  std::size_t count = 0;
  std::string word;
  const auto end_word = [&] {
    if (word.size() > 1 && std::find(kTellNothing.begin(), kTellNothing.end(), word) ==
                               kTellNothing.end()) {
      const auto piece = static_cast<std::uint16_t>(1 + hash(word) % kPieceHashes);
      const auto last = out.begin() + static_cast<std::ptrdiff_t>(count);
      if (std::find(out.begin(), last, piece) == last) out[count++] = piece;
    }
    word.clear();
  };
  bool small = false;
  for (const auto at : name) {
    const auto ch = static_cast<unsigned char>(at);
    // Bytes beyond ASCII are letters of some alphabet.
    const bool letter = std::isalpha(ch) != 0 || ch >= 128;
    if (!letter || (small && std::isupper(ch) != 0)) end_word();
    if (count == out.size()) return out;
    small = letter && std::islower(ch) != 0;
    if (letter) word += static_cast<char>(ch < 128 ? std::tolower(ch) : ch);
  }
  end_word();
  return out;
}

using timeline::kNoRow;

Nesting nesting_of(const timeline::Timeline& t) {
  const auto& c = t.columns();
  Nesting out;
  out.above.assign(c.size(), kNoRow);
  out.depth.assign(c.size(), 0);
  out.gap.assign(c.size(), 0);
  std::vector<std::int64_t> reached(c.size(), trace::kNoTime);  // inside each row
  for (const auto& lane : t.lanes.lanes) {
    auto end = trace::kNoTime;
    for (const auto row : t.lanes.rows_of(lane)) {
      auto above = t.tree.parent[row];
      if (above != kNoRow && !timeline::counts_in_windows(c.cat(above))) {
        above = out.above[above];
      }
      out.above[row] = above;
      if (!timeline::counts_in_windows(c.cat(row))) continue;
      auto& before = above == kNoRow ? end : reached[above];
      if (above != kNoRow) {
        out.depth[row] =
            static_cast<std::uint8_t>(std::min<int>(255, out.depth[above] + 1));
        before = std::max(before, c.ts[above]);
      }
      if (before != trace::kNoTime) {
        out.gap[row] = std::max<std::int64_t>(0, c.ts[row] - before);
      }
      before = std::max(before, c.end(row));
    }
  }
  return out;
}

Whole::Whole(const timeline::Timeline& timeline, const timeline::EventArgs& event_args)
    : t(timeline),
      args(event_args),
      kinds(kinds_of_rows(timeline)),
      usual(usual_of(timeline, kinds)),
      nesting(nesting_of(timeline)),
      hosts(timeline, kinds),
      devices(device_parts(timeline, hosts)) {
  for (std::size_t i = 0; i < devices.size(); ++i) by_key[t.devices[i].device] = i;
  words.resize(t.trace->strings.size());
  // Python frames are the greater part of all names, and no tokens.
  for (std::uint32_t id = 0; id < words.size(); ++id) {
    if (usual.on_host[id] >= 0 || usual.on_device[id] >= 0) {
      words[id] = pieces_of(t.trace->strings.view(id));
    }
  }
}

}  // namespace tta::features
