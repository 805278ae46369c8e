// SPDX-License-Identifier: BSD-3-Clause
// patterns/rules/data_parallel/ddp_buffers.cpp: follows the operators of each forward
// until it computes.
#include "patterns/rules/data_parallel/ddp_buffers.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace tta::patterns {
namespace {

using trace::Category;

// What the operators of one forward show, in their order.
class Stretch {
 public:
  explicit Stretch(const timeline::Timeline& t) : t_(t), c_(t.columns()) {}

  void take(std::uint32_t row) {
    if (c_.cat(row) != Category::kCpuOp || c_.ts[row] < reached_) return;
    const auto name = t_.trace->name(row);
    if (name == "c10d::broadcast_") {
      if (broadcast_ == kNoRow) broadcast_ = row;
    } else if (name == "aten::flatten_dense_tensors") {
      if (first_ == kNoRow) first_ = row;
    } else if (broadcast_ != kNoRow && (name == "aten::unflatten_dense_tensors" ||
                                        (unpacking_ && name == "aten::copy_"))) {
      unpacking_ = true;
      end_ = c_.end(row);
    } else {
      // The collective's own operator comes between; anything else is the module.
      if (name != "record_param_comms") unpacking_ = false;
      return;
    }
    reached_ = c_.end(row);  // its parts say no more
  }

  void finish(std::vector<Mark>& marks) const {
    if (end_ == 0) return;
    const auto begin = std::min(c_.ts[broadcast_],
                                first_ == kNoRow ? c_.ts[broadcast_] : c_.ts[first_]);
    marks.push_back({{begin, end_}, broadcast_});
  }

 private:
  const timeline::Timeline& t_;
  const trace::Columns& c_;
  std::uint32_t first_ = kNoRow, broadcast_ = kNoRow;
  std::int64_t reached_ = -trace::kTimeLimit, end_ = 0;
  bool unpacking_ = false;
};

}  // namespace

std::vector<Mark> ddp_buffers(const timeline::Timeline& t) {
  const auto& c = t.columns();
  std::map<std::uint32_t, std::vector<Interval>> forwards;  // of each thread
  for (const auto& span : t.spans.annotations) {
    if (t.trace->name(span.row) != "DistributedDataParallel.forward") continue;
    auto& of = forwards[t.lanes.lane[span.row]];
    // One inside another (a module in two parts) belongs to it.
    if (of.empty() || span.begin >= of.back().end) of.push_back({span.begin, span.end});
  }
  std::vector<Mark> marks;
  for (const auto& [lane, of] : forwards) {
    const auto rows = t.lanes.rows_of(t.lanes.lanes[lane]);
    auto row = rows.begin();
    for (const auto& forward : of) {
      Stretch stretch(t);
      for (; row != rows.end() && c.ts[*row] < forward.end; ++row) {
        if (c.ts[*row] >= forward.begin) stretch.take(*row);
      }
      stretch.finish(marks);
    }
  }
  return marks;
}

}  // namespace tta::patterns
