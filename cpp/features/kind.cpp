// SPDX-License-Identifier: BSD-3-Clause
// features/kind.cpp: the table of kinds, and the kind of each row.
#include "features/kind.h"

#include <algorithm>
#include <array>

#include "timeline/names.h"

namespace tta::features {
namespace {

using timeline::CopyDirection;
using trace::Category;

constexpr std::array kTable = {
#define TTA_KIND_INFO(id, name, doc) KindInfo{name, doc},
    TTA_KINDS(TTA_KIND_INFO)
#undef TTA_KIND_INFO
};

Kind copy_kind(CopyDirection direction) {
  switch (direction) {
    case CopyDirection::kToDevice:
      return Kind::kToDevice;
    case CopyDirection::kToHost:
      return Kind::kToHost;
    default:
      return Kind::kInDevice;
  }
}

// Remembers what a function says of each name.
template <Kind (*Ask)(std::string_view)>
class Asked {
 public:
  explicit Asked(const trace::Trace& trace)
      : trace_(trace), known_(trace.strings.size(), kUnknown) {}
  Kind operator()(std::uint32_t row) {
    auto& known = known_[trace_.columns.name[row]];
    if (known == kUnknown) {
      known = static_cast<std::uint8_t>(Ask(trace_.name(row)));
    }
    return static_cast<Kind>(known);
  }

 private:
  static constexpr std::uint8_t kUnknown = 255;
  const trace::Trace& trace_;
  std::vector<std::uint8_t> known_;
};

// The ranges in which a backend carries out a collective. The ranges around it (that of
// DistributedDataParallel's forward holds a whole pass) are the program's.
bool names_a_backend(std::string_view name) {
  constexpr std::array<std::string_view, 8> kBegins = {
      "gloo:", "nccl:", "rccl:", "xccl:", "hccl:", "mpi:", "ucc:", "c10d::"};
  return std::any_of(kBegins.begin(), kBegins.end(),
                     [&](std::string_view begin) { return name.starts_with(begin); });
}

Kind range_kind(std::string_view name) {
  if (name == "Python GC") return Kind::kCollect;
  if (names_a_backend(name)) return Kind::kCollective;
  return operator_kind(name) == Kind::kCompiled ? Kind::kCompiled : Kind::kRange;
}

Kind copy_by_name(std::string_view name) {
  return copy_kind(timeline::copy_direction(name));
}

}  // namespace

std::span<const KindInfo> kinds() { return kTable; }

std::vector<Kind> kinds_of_rows(const timeline::Timeline& t) {
  const auto& c = t.columns();
  std::vector<Kind> out(c.size(), Kind::kOther);
  Asked<operator_kind> of_operator(*t.trace);
  Asked<range_kind> of_range(*t.trace);
  Asked<call_kind> of_call(*t.trace);
  Asked<kernel_kind> of_kernel(*t.trace);
  Asked<copy_by_name> of_copy(*t.trace);
  for (const auto row : t.lanes.rows) {
    const auto cat = c.cat(row);
    auto& kind = out[row];
    if (t.lanes.on_stream(row)) {
      kind = cat == Category::kGpuMemset ? Kind::kMemset
             : t.is_copy(row)            ? of_copy(row)
             : t.is_communication(row)   ? Kind::kCommunication
                                         : of_kernel(row);
    } else if (c.cat_info(row).runtime_api) {
      kind = of_call(row);
    } else if (cat == Category::kCpuOp) {
      kind = of_operator(row);
    } else {
      kind = of_range(row);
    }
  }
  for (const auto* list : {&t.spans.steps, &t.spans.loader, &t.spans.optimizer}) {
    for (const auto& span : *list) {
      out[span.row] = span.kind == timeline::SpanKind::kStep     ? Kind::kStep
                      : span.kind == timeline::SpanKind::kLoader ? Kind::kLoader
                                                                 : Kind::kOptimizer;
    }
  }
  return out;
}

}  // namespace tta::features
