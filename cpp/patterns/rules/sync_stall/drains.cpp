// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/sync_stall/drains.cpp: looks at the waits of the launching thread and
// of its fellows.
#include "patterns/rules/sync_stall/drains.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace tta::patterns {
namespace {

// The threads of a process that has more which wait are not looked through, gap by gap.
constexpr std::size_t kMostWaiting = 8;

}  // namespace

bool is_autotuning(const timeline::Timeline& t, std::uint32_t wait) {
  if (t.trace->name(wait).find("Event") == std::string_view::npos) return false;
  const auto owner = t.owner_of(wait);
  return owner != kNoRow && t.trace->name(owner).starts_with("aten::");
}

Drains::Drains(const timeline::Timeline& t, std::int64_t min_wait, double max_threads)
    : t_(t), min_wait_(min_wait), max_threads_(max_threads) {
  list_processes();
  find_autograd();
}

Drain Drains::of(std::uint32_t launch, std::int64_t dry) {
  Drain out{nullptr, t_.lanes.lane[launch]};
  const auto process = processes_.find(t_.columns().pid[launch]);
  if (process == processes_.end()) return out;
  const auto& p = process->second;
  const bool many = p.waiting.size() > kMostWaiting;
  if (const auto own = p.waiting.find(out.lane); own != p.waiting.end()) {
    consider(*own->second, dry, out);
  }
  if (many) return out;
  const bool crowded = static_cast<double>(p.threads.size()) > max_threads_;
  for (const auto& [lane, thread] : p.waiting) {
    if (lane == out.lane) continue;
    if (crowded && !autograd_[lane] && !autograd_[out.lane]) continue;
    consider(*thread, dry, out);
  }
  return out;
}

void Drains::list_processes() {
  for (const auto& thread : t_.waits) {
    auto& process = processes_[thread.pid];
    process.waiting[thread.lane] = &thread;
    process.threads.insert(thread.lane);
  }
  for (const auto& d : t_.devices) {
    for (const auto row : d.rows) {
      const auto launch = t_.launch_of(row);
      if (launch == kNoRow) continue;
      const auto it = processes_.find(t_.columns().pid[launch]);
      if (it != processes_.end()) it->second.threads.insert(t_.lanes.lane[launch]);
    }
  }
}

// Threads of autograd's engine: they work for the thread that called backward().
void Drains::find_autograd() {
  const auto& c = t_.columns();
  autograd_.assign(t_.lanes.lanes.size(), 0);
  std::vector<char> names(t_.trace->strings.size());
  for (std::uint32_t id = 0; id < names.size(); ++id) {
    const auto name = t_.trace->strings.view(id);
    names[id] =
        name.starts_with("autograd::engine::") || name.starts_with("torch::autograd::");
  }
  for (std::uint32_t row = 0; row < c.size(); ++row) {
    if (t_.lanes.lane[row] != timeline::kNoLane && names[c.name[row]] &&
        c.cat(row) == trace::Category::kCpuOp) {
      autograd_[t_.lanes.lane[row]] = 1;
    }
  }
}

void Drains::consider(const timeline::ThreadWaits& thread, std::int64_t dry,
                      Drain& out) {
  const auto after = std::lower_bound(
      thread.waits.begin(), thread.waits.end(), dry,
      [](const timeline::HostWait& w, std::int64_t at) { return w.begin < at; });
  if (after == thread.waits.begin()) return;
  const auto& wait = *std::prev(after);
  const auto length = wait.end - wait.begin;
  if (wait.end < dry - timeline::kClockSkew || length < min_wait_ ||
      length <= out.left || is_autotuning(t_, wait.row)) {
    return;
  }
  auto until = trace::kTimeLimit;
  if (thread.lane != out.lane) {
    if (worked_during(out.lane, wait)) return;
    // Autograd's thread starts because the thread that waited came back. Any other
    // may have had reasons of its own once anything is at work again.
    if (!autograd_[out.lane]) until = next_work(thread.pid, wait.end);
  }
  out = {&wait, out.lane, length, until};
}

bool Drains::worked_during(std::uint32_t lane, const timeline::HostWait& wait) {
  const auto [it, fresh] = worked_.try_emplace({lane, wait.row});
  if (fresh) it->second = t_.at_work(lane, {wait.begin, wait.end});
  return it->second;
}

// When a thread of a process first began an operator or a runtime call again.
std::int64_t Drains::next_work(std::int64_t pid, std::int64_t from) {
  if (work_.empty()) {
    const auto& c = t_.columns();
    for (std::uint32_t row = 0; row < c.size(); ++row) {
      const auto lane = t_.lanes.lane[row];
      if (lane != timeline::kNoLane && !t_.lanes.lanes[lane].is_stream &&
          (c.cat(row) == trace::Category::kCpuOp || c.cat_info(row).runtime_api)) {
        work_[c.pid[row]].push_back(c.ts[row]);
      }
    }
    for (auto& [of, begins] : work_) std::sort(begins.begin(), begins.end());
  }
  const auto& begins = work_[pid];
  const auto it = std::lower_bound(begins.begin(), begins.end(), from);
  return it == begins.end() ? trace::kTimeLimit : *it;
}

}  // namespace tta::patterns
