// SPDX-License-Identifier: BSD-3-Clause
// trace/tally.cpp: the wording of warnings.
#include "trace/tally.h"

#include "trace/printable.h"

namespace tta::trace {
namespace {

struct Wording {
  const char* kind;
  const char* text;
};
constexpr std::array kWordings = {
#define TTA_WORDING(id, kind, text) Wording{kind, text},
    TTA_ODDITIES(TTA_WORDING)
#undef TTA_WORDING
};

constexpr std::size_t kMaxNamed = 20;  // categories listed by name

std::string place(Position where) {
  std::string text = " (first at JSON byte " + std::to_string(where.offset);
  if (where.event >= 0) text += ", traceEvents[" + std::to_string(where.event) + "]";
  return text + ")";
}

}  // namespace

void Tally::count(Oddity oddity, Position where, std::uint64_t times) {
  Entry& entry = entries_[static_cast<std::size_t>(oddity)];
  if (entry.times == 0) entry.first = where;
  entry.times += times;
}

void Tally::count_category(std::string_view name, Position where) {
  count(Oddity::kUnknownCategory, where);
  if (named_ == kMaxNamed) categories_ += ", ...";
  if (++named_ > kMaxNamed) return;
  categories_ += (named_ == 1 ? ": " : ", ") + printable(name);
}

std::vector<Warning> Tally::warnings() const {
  std::vector<Warning> warnings;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    if (entry.times == 0) continue;
    std::string detail = kWordings[i].text;
    if (i == static_cast<std::size_t>(Oddity::kUnknownCategory)) detail += categories_;
    warnings.push_back({kWordings[i].kind, entry.times, detail + place(entry.first)});
  }
  return warnings;
}

}  // namespace tta::trace
