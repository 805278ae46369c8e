// SPDX-License-Identifier: BSD-3-Clause
// write/json_text.cpp: a text with events added to it.
#include "write/json_text.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "trace/recovery.h"
#include "trace/source.h"
#include "trace/tally.h"
#include "trace/tokens.h"

namespace tta::write {

namespace {

using trace::Anomaly;
using trace::TextReader;
using trace::Trace;
using trace::TraceError;

constexpr std::array kNotWhole = {
    Anomaly::kUnclosedList,    Anomaly::kTruncated,     Anomaly::kDamagedEvent,
    Anomaly::kDamagedMetadata, Anomaly::kBadUtf8,       Anomaly::kTwoEventLists,
    Anomaly::kTrailingContent, Anomaly::kGzipTruncated, Anomaly::kGzipDamaged,
    Anomaly::kGzipChecksum,    Anomaly::kGzipTrailing};

// Hands out the text of a source up to a place; a source that ends before has changed.
class Text {
 public:
  explicit Text(const Trace& trace)
      : trace_(trace), reader_(trace.source->open()), buffer_(std::size_t{256} << 10) {}

  template <typename Take>
  void until(std::uint64_t end, Take take) {
    while (at_ < end) {
      const auto most = std::min<std::uint64_t>(buffer_.size(), end - at_);
      const auto size = reader_->read(buffer_.data(), static_cast<std::size_t>(most));
      if (size == 0) fail();
      take(std::string_view(buffer_.data(), size));
      at_ += size;
    }
  }

  [[noreturn]] void fail() const {
    throw TraceError("changed", trace_.path,
                     "the file's content differs from the loaded one",
                     "Load the trace again.", static_cast<std::int64_t>(at_));
  }

 private:
  const Trace& trace_;
  std::unique_ptr<TextReader> reader_;
  std::vector<char> buffer_;
  std::uint64_t at_ = 0;
};

}  // namespace

bool has_whole_text(const Trace& trace) {
  return trace.events_end > 0 &&
         std::none_of(trace.warnings.begin(), trace.warnings.end(), [](const auto& w) {
           return std::any_of(kNotWhole.begin(), kNotWhole.end(), [&](Anomaly each) {
             return w.kind == trace::kind_of(each);
           });
         });
}

void copy_text(const Trace& trace, std::ostream& out,
               const std::function<void(bool)>& insert) {
  if (!has_whole_text(trace)) {
    throw std::invalid_argument(trace.path + ": not read from a valid document");
  }
  const bool mends = trace::needs_mending(trace.warnings);
  Text text(trace);
  std::string held;  // what has to be mended
  const auto take = [&](std::string_view piece) {
    if (mends) {
      held += piece;
    } else {
      out << piece;
    }
  };
  const auto flush = [&] {
    if (mends) out << trace::mended(held);
    held.clear();
  };
  char last = 0;
  text.until(trace.events_end, [&](std::string_view piece) {
    const auto end = std::find_if_not(piece.rbegin(), piece.rend(), trace::is_blank);
    if (end != piece.rend()) last = *end;
    take(piece);
  });
  flush();
  insert(last == '[');
  bool first = true;
  text.until(trace.text_bytes, [&](std::string_view piece) {
    if (first && piece.front() != ']') text.fail();
    first = false;
    take(piece);
  });
  flush();
}

void EventList::row(char phase, std::string_view members) {
  out_ << (rows_++ == 0 ? "\n" : ",\n") << "{\"ph\": " << json_string({&phase, 1})
       << ", " << members << "}";
}

}  // namespace tta::write
