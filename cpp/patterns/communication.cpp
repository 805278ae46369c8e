// SPDX-License-Identifier: BSD-3-Clause
// patterns/communication.cpp: collectives, and the time that nothing hides.
#include "patterns/communication.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

namespace tta::patterns {

IntervalSet computation(const timeline::Timeline& t, const timeline::DeviceTime& d) {
  const auto& c = t.columns();
  std::vector<Interval> work;
  for (const auto row : d.rows) {
    if (!t.is_communication(row)) work.push_back({c.ts[row], c.end(row)});
  }
  return timeline::unite(std::move(work));
}

const timeline::CollectiveArgs* collective_of(const Context& context,
                                              std::uint32_t row) {
  const auto& t = context.timeline;
  if (const auto* own = context.args.collective(row)) return own;
  for (const auto at : t.tree.around(t.owner_of(row))) {
    if (t.columns().cat(at) != trace::Category::kCpuOp) break;
    if (const auto* of_operator = context.args.collective(at)) return of_operator;
    // Further up lie the program's own ranges.
    if (timeline::contains(t.trace->name(at), "c10d")) break;
  }
  return nullptr;
}

CollectiveKind kind_named(std::string_view name) {
  std::string letters;
  for (const auto ch : name) {
    const auto byte = static_cast<unsigned char>(ch);
    if (std::isalpha(byte)) letters += static_cast<char>(std::tolower(byte));
  }
  using enum CollectiveKind;
  constexpr std::array<std::pair<std::string_view, CollectiveKind>, 7> kKinds = {{
      {"allreduce", kAllReduce},
      {"reducescatter", kReduceScatter},
      {"allgather", kAllGather},
      {"alltoall", kAllToAll},
      {"broadcast", kBroadcast},
      {"ncclkernelreduce", kReduce},
      {"nccldevkernelreduce", kReduce},
  }};
  for (const auto& [part, kind] : kKinds) {
    if (letters.find(part) != std::string::npos) return kind;
  }
  return letters == "reduce" || letters == "cdreduce" ? kReduce : kOther;
}

CollectiveKind kind_of(const Context& context, std::uint32_t row) {
  const auto& t = context.timeline;
  if (const auto* known = collective_of(context, row); known && !known->name.empty()) {
    return kind_named(known->name);
  }
  const auto own = kind_named(t.trace->name(row));
  const auto owner = t.owner_of(row);
  return own != CollectiveKind::kOther || owner == kNoRow
             ? own
             : kind_named(t.trace->name(owner));
}

double bytes_sent(const timeline::CollectiveArgs& collective) {
  const auto bytes = static_cast<double>(collective.bytes());
  const auto ranks = static_cast<double>(collective.group_size);
  if (bytes < 0 || ranks < 1) return -1;
  const auto others = (ranks - 1) / ranks;
  switch (kind_named(collective.name)) {
    case CollectiveKind::kAllReduce:
      return 2 * others * bytes;
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllGather:
    case CollectiveKind::kAllToAll:
      return others * bytes;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kReduce:
    case CollectiveKind::kOther:
      break;  // which rank sends how much goes by who is the root
  }
  return -1;
}

std::vector<Claim> claim_exposed(const Context& context, PatternId pattern,
                                 std::size_t index, std::vector<Mark> marks,
                                 const IntervalSet& computing) {
  std::stable_sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) {
    return a.time.begin < b.time.begin;
  });
  std::vector<Claim> claims;
  auto reached = context.timeline.span.begin;
  for (const auto& mark : marks) {
    const Interval time{std::max(mark.time.begin, reached), mark.time.end};
    if (time.length() == 0) continue;
    reached = time.end;
    for (const auto& part :
         timeline::subtract({time}, timeline::clip(computing, time))) {
      for (const auto& left : context.ledger.busy(index, part)) {
        claims.push_back({pattern, mark.subtype, false,
                          context.timeline.devices[index].device, left.begin, left.end,
                          mark.row});
      }
    }
  }
  return claims;
}

}  // namespace tta::patterns
