// SPDX-License-Identifier: BSD-3-Clause
// patterns/copies.cpp: which copies there are, which operators made them, and what
// their link could carry.
#include "patterns/copies.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <queue>
#include <utility>

#include "patterns/facts.h"
#include "timeline/cursor.h"
#include "timeline/gpu_table.h"

namespace tta::patterns {
namespace {

using trace::Category;

// NVLink-C2C carries 450 GB/s each way; a rate above twice that is a wrong duration.
constexpr double kFastestLink = 900;

// Of ten copies without a call, how many have to lie inside one operator.
constexpr std::size_t kInStep = 9;

// The operators of a process that no other encloses, by start.
std::vector<std::uint32_t> outermost(const timeline::Timeline& t, std::int64_t pid) {
  const auto& c = t.columns();
  std::vector<std::uint32_t> out;
  for (const auto& lane : t.lanes.threads()) {
    if (pid != trace::kNoId && lane.pid != pid) continue;
    auto reached = t.span.begin;
    for (const auto row : t.lanes.rows_of(lane)) {
      if (c.cat(row) != Category::kCpuOp || c.end(row) <= reached) continue;
      reached = c.end(row);
      out.push_back(row);
    }
  }
  std::sort(out.begin(), out.end(), [&](auto a, auto b) {
    return c.ts[a] != c.ts[b] ? c.ts[a] < c.ts[b] : a < b;
  });
  return out;
}

// The deepest operator on the thread of `around` that holds all of `time`.
std::uint32_t deepest(const timeline::Timeline& t, std::uint32_t around,
                      Interval time) {
  const auto& c = t.columns();
  const timeline::Cursor thread(t, t.lanes.lane[around]);
  return t.tree.innermost(thread.begun(time.begin), [&](auto at) {
    return c.cat(at) == Category::kCpuOp && c.end(at) >= time.end;
  });
}

}  // namespace

const std::vector<HostCopy>& host_copies(const Context& context,
                                         const timeline::DeviceTime& d) {
  const auto& t = context.timeline;
  const auto& c = t.columns();
  const auto [known, fresh] = context.facts.copies.try_emplace(&d);
  auto& out = known->second;
  if (!fresh) return out;
  std::array<std::size_t, 2> latest{};  // of each way, that which ends last; + 1
  for (const auto row : d.rows) {
    if (!t.is_copy(row)) continue;
    const auto& known_of_row = context.args.work(row);
    const auto direction = t.names.direction(c.name[row]);
    const bool up = direction == timeline::CopyDirection::kToDevice ||
                    known_of_row.way == timeline::WorkArgs::Way::kToDevice;
    const bool down = direction == timeline::CopyDirection::kToHost ||
                      known_of_row.way == timeline::WorkArgs::Way::kToHost;
    if (up == down) continue;
    HostCopy copy;
    copy.row = row;
    copy.way = up ? CopyWay::kToDevice : CopyWay::kToHost;
    copy.memory = t.named(row, Name::kPageable) ? HostMemory::kPageable
                  : t.named(row, Name::kPinned) ? HostMemory::kPinned
                                                : HostMemory::kUnknown;
    copy.bytes = known_of_row.bytes;
    if (copy.bytes > 0 && c.dur[row] > 0) {
      const auto rate =
          static_cast<double>(copy.bytes) / static_cast<double>(c.dur[row]);
      if (rate <= kFastestLink) copy.rate = rate;
    }
    auto& last = latest[static_cast<std::size_t>(copy.way)];
    if (last > 0 && c.end(out[last - 1].row) > c.ts[row]) {
      out[last - 1].shared = copy.shared = true;
    }
    out.push_back(copy);
    if (last == 0 || c.end(out[last - 1].row) <= c.end(row)) last = out.size();
  }
  return out;
}

Held first_input(const Context& context, std::uint32_t op) {
  Held out;
  const auto* args = op == kNoRow ? nullptr : context.args.op(op);
  if (args == nullptr || args->dims.empty() || args->dims[0].empty()) return out;
  if (!args->types.empty()) out.type = args->types[0];
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  std::int64_t elements = 1;
  for (const auto size : args->dims[0]) {
    if (size > 0 && elements > kMost / size) return out;
    elements *= size;
  }
  out.elements = elements;
  const auto each = timeline::element_bytes(out.type);
  if (each > 0 && elements <= kMost / each) out.bytes = elements * each;
  return out;
}

std::vector<std::int64_t> first_kernels(const timeline::Timeline& t) {
  const auto& c = t.columns();
  std::vector<std::int64_t> first;
  std::map<std::int64_t, std::int64_t> of_process;
  for (const auto& d : t.devices) {
    const auto kernel = std::find_if(d.rows.begin(), d.rows.end(),
                                     [&](auto row) { return t.is_kernel(row); });
    first.push_back(kernel == d.rows.end() ? std::numeric_limits<std::int64_t>::max()
                                           : c.ts[*kernel]);
    if (d.pid == trace::kNoId) continue;
    const auto [it, fresh] = of_process.emplace(d.pid, first.back());
    it->second = std::min(it->second, first.back());
  }
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto pid = t.devices[i].pid;
    if (pid != trace::kNoId) first[i] = of_process.at(pid);
  }
  return first;
}

BareTime::BareTime(const Context& context, std::size_t device)
    : context_(context), device_(device), reached_(context.timeline.span.begin) {
  const auto& c = context.timeline.columns();
  std::vector<Interval> kernels;
  for (const auto row : context.timeline.devices[device].rows) {
    if (context.timeline.is_kernel(row)) kernels.push_back({c.ts[row], c.end(row)});
  }
  kernels_ = timeline::unite(std::move(kernels));
}

IntervalSet BareTime::of(Interval copy) {
  copy.begin = std::max(copy.begin, reached_);
  IntervalSet out;
  if (copy.length() == 0) return out;
  reached_ = copy.end;
  for (const auto& part : timeline::subtract({copy}, timeline::clip(kernels_, copy))) {
    const auto left = context_.ledger.busy(device_, part);
    out.insert(out.end(), left.begin(), left.end());
  }
  return out;
}

LinkRate link_rate(const timeline::Timeline& t, std::int32_t device,
                   std::span<const HostCopy> copies, CopyWay way, double large) {
  double best = -1, pageable = -1;
  for (const auto& copy : copies) {
    if (copy.way != way || static_cast<double>(copy.bytes) < large) continue;
    auto& of = copy.memory == HostMemory::kPageable ? pageable : best;
    of = std::max(of, copy.rate);
  }
  if (best > 0) return {std::max(best, pageable), true};
  const auto* properties = t.properties_of(device);
  const auto named =
      properties == nullptr ? -1 : timeline::pinned_copy_gb_s(properties->name);
  return named > 0 ? LinkRate{std::max(named, pageable), pageable >= named}
                   : LinkRate{};
}

void claim_share(std::vector<Claim>& claims, const Claim& like,
                 const IntervalSet& parts, double share, std::int64_t most) {
  for (const auto& part : parts) {
    auto claim = like;
    const auto wanted =
        static_cast<std::int64_t>(static_cast<double>(part.length()) * share);
    claim.begin = part.begin;
    claim.end = part.begin + std::min(wanted, most);
    most -= claim.end - claim.begin;
    if (claim.end > claim.begin) claims.push_back(claim);
  }
}

std::uint32_t copy_operator(const timeline::Timeline& t, std::uint32_t row) {
  return copy_operator_around(t, t.owner_of(row));
}

std::uint32_t copy_operator_around(const timeline::Timeline& t, std::uint32_t op) {
  std::uint32_t outer = kNoRow;
  for (const auto row : t.tree.around(op)) {
    if (t.columns().cat(row) != Category::kCpuOp) break;
    if (!t.named(row, Name::kHostCopy)) {
      // Ranges of a module, of DDP or of a compiled region only enclose the call.
      return t.named(row, Name::kAten) ? kNoRow : outer;
    }
    outer = row;
  }
  return outer;
}

std::vector<std::uint32_t> operators_by_time(const timeline::Timeline& t,
                                             const timeline::DeviceTime& d,
                                             std::span<const HostCopy> copies) {
  const auto& c = t.columns();
  std::vector<std::uint32_t> out(copies.size(), kNoRow);
  const auto has_no_call = [&](const HostCopy& copy) {
    return t.launch_of(copy.row) == kNoRow;
  };
  const auto without = static_cast<std::size_t>(
      std::count_if(copies.begin(), copies.end(), has_no_call));
  if (without == 0) return out;
  const auto ops = outermost(t, d.pid);
  using Open = std::pair<std::int64_t, std::uint32_t>;  // end, operator
  std::priority_queue<Open, std::vector<Open>, std::greater<>> open;
  auto next = ops.begin();
  std::size_t inside = 0;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    if (!has_no_call(copies[i])) continue;
    const Interval time{c.ts[copies[i].row], c.end(copies[i].row)};
    for (; next != ops.end() && c.ts[*next] <= time.begin; ++next) {
      open.emplace(c.end(*next), *next);
    }
    while (!open.empty() && open.top().first <= time.begin) open.pop();
    if (open.size() != 1 || open.top().first < time.end) continue;
    ++inside;
    out[i] = deepest(t, open.top().second, time);
  }
  if (inside * 10 < without * kInStep) out.assign(copies.size(), kNoRow);
  // Of each row, whether the operator, or one inside it, launched work.
  std::vector<char> launching(c.size(), 0);
  for (const auto row : d.rows) t.tree.mark_around(t.launch_of(row), launching);
  for (auto& op : out) {
    if (op != kNoRow && launching[op]) op = kNoRow;
  }
  return out;
}

}  // namespace tta::patterns
