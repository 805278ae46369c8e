// SPDX-License-Identifier: BSD-3-Clause
// trace/order.cpp: sorts row numbers, then moves the columns.
#include "trace/order.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "trace/spans.h"

namespace tta::trace {
namespace {

constexpr std::uint32_t kNone = 0xFFFFFFFF;
constexpr std::size_t kRowsBetween = 1 << 16;  // checkpoints

// Compares rows by all that is known of them except their place in the file.
class Earlier {
 public:
  Earlier(const Trace& trace, const std::vector<std::uint32_t>& kept)
      : c_(trace.columns),
        kept_args_(trace.kept_args),
        kept_(kept),
        place_(trace.strings.size()) {
    std::vector<std::uint32_t> ids(place_.size());
    std::iota(ids.begin(), ids.end(), 0);
    std::ranges::sort(ids, {}, [&](auto id) { return trace.strings.view(id); });
    for (std::uint32_t i = 0; i < ids.size(); ++i) place_[ids[i]] = i;
  }

  bool operator()(std::uint32_t a, std::uint32_t b) const {
    if (c_.ts[a] != c_.ts[b]) return c_.ts[a] < c_.ts[b];
    if (c_.dur[a] != c_.dur[b]) return c_.dur[a] > c_.dur[b];
    return tied(a, b) < 0;
  }

 private:
  // <0: a comes first.
  int tied(std::uint32_t a, std::uint32_t b) const {
    if (const int d = depth_rank(c_.cat(a)) - depth_rank(c_.cat(b))) return d;
    const auto differ = [](auto x, auto y) { return x < y ? -1 : x > y ? 1 : 0; };
    if (const int d = differ(identity(c_.pid[a]), identity(c_.pid[b]))) return d;
    if (const int d = differ(identity(c_.tid[a]), identity(c_.tid[b]))) return d;
    if (const int d = differ(place_[c_.name[a]], place_[c_.name[b]])) return d;
#define TTA_COMPARE(column) \
  if (const int d = differ(c_.column[a], c_.column[b])) return d
    TTA_COMPARE(device);
    TTA_COMPARE(stream);
    TTA_COMPARE(correlation);
    TTA_COMPARE(external_id);
    TTA_COMPARE(python_id);
    TTA_COMPARE(python_parent_id);
    TTA_COMPARE(sequence);
    TTA_COMPARE(category);
    TTA_COMPARE(phase);
    TTA_COMPARE(args_length);
#undef TTA_COMPARE
    return kept_.empty() ? 0 : text(a).compare(text(b));
  }

  // Numbers before texts.
  std::int64_t identity(std::int64_t id) const {
    return id < kTextIdentity ? id : kTextIdentity + place_[id - kTextIdentity];
  }

  std::string_view text(std::uint32_t row) const { return kept_args_.text(kept_[row]); }

  const Columns& c_;
  const KeptArgs& kept_args_;
  const std::vector<std::uint32_t>& kept_;  // number of the text of each row
  std::vector<std::uint32_t> place_;        // of each name, in order of their texts
};

template <typename T>
void gather(std::vector<T>& column, const std::vector<std::uint32_t>& order,
            std::vector<T>& spare, const std::function<void()>& checkpoint) {
  spare.resize(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i % kRowsBetween == 0) checkpoint();
    spare[i] = column[order[i]];
  }
  std::swap(column, spare);
}

// Moves all columns, one type after the other; the old column is room for the next one.
void gather_all(Columns& c, const std::vector<std::uint32_t>& order,
                const std::function<void()>& checkpoint) {
  const auto all = [&](auto&... columns) {
    std::vector<typename std::tuple_element_t<
        0, std::tuple<std::remove_reference_t<decltype(columns)>...>>::value_type>
        spare;
    (..., gather(columns, order, spare, checkpoint));
  };
  all(c.name, c.args_length);
  all(c.category);
  all(c.phase);
  all(c.device);
  all(c.args_offset);
  all(c.ts, c.dur, c.pid, c.tid, c.stream, c.correlation, c.external_id, c.python_id,
      c.python_parent_id, c.sequence);
}

// Sorts these rows and leaves out all others. False if nothing moved.
bool arrange(Trace& trace, std::vector<std::uint32_t>& kept,
             std::vector<std::uint32_t> order,
             const std::function<void()>& checkpoint) {
  sort_runs(order, Earlier(trace, kept), [&] { checkpoint(); });
  if (order.size() == trace.columns.size() && std::ranges::is_sorted(order)) {
    return false;
  }
  gather_all(trace.columns, order, checkpoint);
  std::vector<std::uint32_t> spare;
  if (!kept.empty()) gather(kept, order, spare, checkpoint);
  return true;
}

// Ids of names in order of the rows that have them.
void renumber_names(Trace& trace, const std::function<void()>& checkpoint) {
  auto& c = trace.columns;
  std::vector<std::uint32_t> number(trace.strings.size(), kNone), order;
  const auto use = [&](std::uint32_t old) {
    if (number[old] == kNone) {
      number[old] = static_cast<std::uint32_t>(order.size());
      order.push_back(old);
    }
    return number[old];
  };
  use(0);  // the empty name
  for (std::size_t row = 0; row < c.size(); ++row) {
    if (row % kRowsBetween == 0) checkpoint();
    c.name[row] = use(c.name[row]);
    for (auto* column : {&c.pid, &c.tid}) {
      auto& id = (*column)[row];
      if (id < kTextIdentity) continue;
      id = kTextIdentity + use(static_cast<std::uint32_t>(id - kTextIdentity));
    }
  }
  for (std::uint32_t old = 0; old < number.size(); ++old) use(old);
  trace.strings.renumber(order);
}

}  // namespace

int depth_rank(Category category) {
  switch (category) {
    case Category::kPythonFunction:
      return 0;
    case Category::kUserAnnotation:
      return 1;
    case Category::kCpuOp:
      return 2;
    default:
      return 3;
  }
}

void order_rows(Trace& trace, const std::function<void()>& checkpoint) {
  const auto n = trace.columns.size();
  std::vector<std::uint32_t> kept;
  const bool has_kept = !trace.kept_args.rows().empty();
  if (has_kept) {
    kept.assign(n, 0);
    for (std::size_t i = 0; i < trace.kept_args.rows().size(); ++i) {
      kept[trace.kept_args.rows()[i]] = trace.kept_args.texts()[i];
    }
  }
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  bool moved = arrange(trace, kept, std::move(order), checkpoint);
  if (auto rows = pair_spans(trace, kept, checkpoint)) {
    moved = true;
    arrange(trace, kept, std::move(*rows), checkpoint);
  }
  if (moved && has_kept) trace.kept_args.replace(kept);
  renumber_names(trace, checkpoint);
}

}  // namespace tta::trace
