// SPDX-License-Identifier: BSD-3-Clause
// trace/document_parts.cpp: a document that others begin, add to, or finish.
#include <algorithm>
#include <utility>

#include "trace/document.h"
#include "trace/mended.h"

namespace tta::trace {

void Document::resume(bool list_form) {
  state_ = State::kEvent;
  list_form_ = list_form;
  has_events_ = true;
}

void Document::expect_rows(double fraction) {
  constexpr double kSlack = 2;  // later events are often shorter than the first ones
  const auto rows = static_cast<double>(rows_.size());
  rows_.expect(static_cast<std::size_t>(kSlack * rows / std::max(fraction, 1e-6)));
}

void Document::count_oddities(TextWindowReader& windows) {
  windows.use_all();
  const auto add = [&](Oddity oddity, const OddBytes& bytes) {
    if (bytes.count > 0) tally_.count(oddity, {bytes.first, -1}, bytes.count);
  };
  add(Oddity::kLoneSurrogate, windows.lone_surrogates());
  add(Oddity::kBadUtf8, windows.bad_utf8());
}

void Document::take_part(Part& part, Known& known) {
  rows_.flush();
  part.columns.clear();
  std::swap(part.columns, trace_.columns);
  part.new_names.clear();
  for (auto& id = known.names; id < trace_.strings.size(); ++id) {
    part.new_names.push_back(trace_.strings.view(static_cast<std::uint32_t>(id)));
  }
  trace_.kept_args.take_part(part.kept_args, known.texts);
  part.tally = std::exchange(tally_, {});
  part.elements = std::exchange(elements_, 0);
  part.left_out = std::exchange(trace_.left_out, 0);
}

void Document::add_part(const Part& part, Ids& ids, std::uint64_t offset) {
  for (const std::string_view name : part.new_names) {
    ids.names.push_back(trace_.strings.intern(name));
  }
  trace_.kept_args.add_part(part.kept_args, static_cast<std::uint32_t>(rows_.size()),
                            ids.texts, offset);
  rows_.append(part.columns, ids.names);
  tally_.add(part.tally, elements_);
  elements_ += part.elements;
  trace_.left_out += part.left_out;
  check_rows();
}

void Document::finish(std::uint64_t text_bytes) {
  rows_.flush();
  trace_.warnings = tally_.warnings();
  trace_.kept_args.finish(!needs_mending(trace_.warnings));
  trace_.text_bytes = text_bytes;
}

void Document::check_rows() const {
  if (rows_.size() <= limits_.rows) return;
  throw TraceError("too_many_events", trace_.path,
                   "there are more than " + std::to_string(limits_.rows) +
                       " events, the most one trace may have",
                   "Record fewer steps, or load fewer categories at a time.", -1,
                   static_cast<std::int64_t>(limits_.rows));
}

}  // namespace tta::trace
