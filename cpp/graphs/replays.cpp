// SPDX-License-Identifier: BSD-3-Clause
// graphs/replays.cpp: work by launch, launches by graph.
#include "graphs/replays.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace tta::graphs {
namespace {

using timeline::EventArgs;
using timeline::Timeline;

// Places of rows, by token; equal ones in order of time.
std::vector<std::uint32_t> by_token(const std::vector<Token>& tokens) {
  std::vector<std::uint32_t> out(tokens.size());
  std::iota(out.begin(), out.end(), 0);
  std::ranges::stable_sort(out, {}, [&](auto place) { return tokens[place]; });
  return out;
}

std::vector<Token> tokens_of(const Timeline& t, const EventArgs& args,
                             const Replay& replay) {
  std::vector<Token> out;
  for (const auto row : replay.rows) out.push_back(token_of(t, args, row));
  return out;
}

std::int64_t id_of(const EventArgs& args, const Replay& replay) {
  for (const auto row : replay.rows) {
    if (args.work(row).graph_id > 0) return args.work(row).graph_id;
  }
  return -1;
}

}  // namespace

Token token_of(const Timeline& t, const EventArgs& args, std::uint32_t row) {
  const auto& work = args.work(row);
  return {t.columns().name[row], work.grid_shape, work.block_shape};
}

Replays list_replays(const Timeline& t, const EventArgs& args) {
  const auto& c = t.columns();
  Replays out;
  std::unordered_map<std::uint32_t, std::size_t> place;
  t.each_launched([&](auto row, auto launch) {
    if (!t.named(launch, timeline::Name::kGraphLaunch)) return;
    const auto [it, fresh] = place.try_emplace(launch, out.replays.size());
    if (fresh) out.replays.push_back({launch, 0, {}});
    out.replays[it->second].rows.push_back(row);
  });
  std::ranges::stable_sort(out.replays, {}, [&](const Replay& r) {
    return std::pair(c.ts[r.launch], r.launch);
  });
  // By process and id, or process and work.
  std::map<std::tuple<std::int64_t, std::int64_t, std::vector<Token>>, std::uint32_t>
      known;
  for (std::uint32_t i = 0; i < out.replays.size(); ++i) {
    auto& replay = out.replays[i];
    std::ranges::stable_sort(replay.rows, {}, [&](auto row) { return c.ts[row]; });
    const auto id = id_of(args, replay);
    std::vector<Token> tokens;
    if (id < 0) {
      tokens = tokens_of(t, args, replay);
      std::ranges::sort(tokens);
    }
    const auto next = static_cast<std::uint32_t>(out.graphs.size());
    const auto [it, fresh] =
        known.try_emplace({c.pid[replay.launch], id, std::move(tokens)}, next);
    if (fresh) out.graphs.push_back({id, i, 0, {}});
    replay.graph = it->second;
    auto& graph = out.graphs[it->second];
    graph.replays.push_back(i);
    if (replay.rows.size() > out.replays[graph.usual].rows.size()) graph.usual = i;
    for (const auto row : replay.rows) graph.device_ns += c.dur[row];
  }
  return out;
}

std::vector<std::uint32_t> nodes_of(const Timeline& t, const EventArgs& args,
                                    const Replay& replay, const Replay& usual) {
  std::vector<std::uint32_t> out(replay.rows.size());
  const auto own = tokens_of(t, args, replay), theirs = tokens_of(t, args, usual);
  if (own == theirs) {
    std::iota(out.begin(), out.end(), 0);
    return out;
  }
  const auto from = by_token(own), to = by_token(theirs);
  if (from.size() != to.size()) return {};
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (own[from[i]] != theirs[to[i]]) return {};
    out[from[i]] = to[i];
  }
  return out;
}

}  // namespace tta::graphs
