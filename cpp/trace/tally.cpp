// SPDX-License-Identifier: BSD-3-Clause
// trace/tally.cpp: the wording of warnings.
#include "trace/tally.h"

#include <algorithm>

#include "trace/printable.h"

namespace tta::trace {
namespace {

struct Wording {
  const char* kind;
  const char* text;
};
constexpr std::array kWordings = {
#define TTA_WORDING(id, kind, text) Wording{kind, text},
    TTA_ANOMALIES(TTA_WORDING)
#undef TTA_WORDING
};

constexpr std::size_t kMaxNamed = 20;  // categories listed by name

std::string place(Position where) {
  std::string text = " (first at JSON byte " + std::to_string(where.offset);
  if (where.event >= 0) text += ", traceEvents[" + std::to_string(where.event) + "]";
  return text + ")";
}

}  // namespace

std::string_view kind_of(Anomaly anomaly) {
  return kWordings[static_cast<std::size_t>(anomaly)].kind;
}

void Tally::count(Anomaly anomaly, Position where, std::uint64_t times,
                  std::uint64_t bytes) {
  Entry& entry = entries_[static_cast<std::size_t>(anomaly)];
  if (entry.times == 0) entry.first = where;
  entry.times += times;
  entry.bytes += bytes;
}

void Tally::count_category(std::string_view name, Position where) {
  if (!known_.emplace(name).second) return;
  categories_.push_back({std::string(name), where});
  count(Anomaly::kUnknownCategory, where);
}

void Tally::add(const Tally& later, std::int64_t first_event) {
  const auto moved = [&](Position where) {
    if (where.event >= 0) where.event += first_event;
    return where;
  };
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = later.entries_[i];
    const auto anomaly = static_cast<Anomaly>(i);
    if (entry.times == 0 || anomaly == Anomaly::kUnknownCategory) continue;
    count(anomaly, moved(entry.first), entry.times, entry.bytes);
  }
  for (const Unknown& category : later.categories_) {
    count_category(category.name, moved(category.first));
  }
}

std::string Tally::names() const {
  std::string names;
  for (std::size_t i = 0; i < std::min(categories_.size(), kMaxNamed); ++i) {
    names += (i == 0 ? ": " : ", ") + printable(categories_[i].name);
  }
  return categories_.size() > kMaxNamed ? names + ", ..." : names;
}

std::vector<Warning> Tally::warnings() const {
  std::vector<Warning> warnings;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    if (entry.times == 0) continue;
    std::string detail = kWordings[i].text;
    if (i == static_cast<std::size_t>(Anomaly::kUnknownCategory)) detail += names();
    if (entry.bytes > 0) detail += ", " + std::to_string(entry.bytes) + " bytes in all";
    warnings.push_back({kWordings[i].kind, entry.times, detail + place(entry.first)});
  }
  return warnings;
}

}  // namespace tta::trace
