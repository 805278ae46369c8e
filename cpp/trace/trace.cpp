// SPDX-License-Identifier: BSD-3-Clause
// trace/trace.cpp: metadata, identities, and the args of rows fetched again.
#include "trace/trace.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include "trace/order.h"
#include "trace/recovery.h"
#include "trace/source.h"

namespace tta::trace {
namespace {

// Reads pieces of text in ascending order of place, through one buffer.
class ForwardReader {
 public:
  explicit ForwardReader(const Source& source)
      : source_(source), reader_(source.open()), buffer_(std::size_t{256} << 10) {}

  // Valid until the next call.
  std::string_view read(std::uint64_t offset, std::size_t length) {
    if (offset >= begin_ + held_) {
      reader_->skip(offset - (begin_ + held_));
      begin_ = offset;
      held_ = 0;
    }
    if (offset + length <= begin_ + held_) {
      return {buffer_.data() + (offset - begin_), length};
    }
    // Across the buffer's end.
    piece_.clear();
    while (piece_.size() < length) {
      const std::size_t from = offset + piece_.size() - begin_;
      if (from == held_) {
        refill();
        continue;
      }
      const std::size_t part = std::min(length - piece_.size(), held_ - from);
      piece_.append(buffer_.data() + from, part);
    }
    return piece_;
  }

 private:
  void refill() {
    begin_ += held_;
    held_ = reader_->read(buffer_.data(), buffer_.size());
    if (held_ > 0) return;
    throw TraceError("changed", source_.path(), "the file is shorter than it was",
                     "Load the trace again.", static_cast<std::int64_t>(begin_));
  }

  const Source& source_;
  std::unique_ptr<TextReader> reader_;
  std::vector<char> buffer_;
  std::uint64_t begin_ = 0;  // of the buffer, in the text
  std::size_t held_ = 0;
  std::string piece_;
};

}  // namespace

std::string_view Trace::metadata_json(std::string_view key) const {
  for (const auto& [name, json] : metadata) {
    if (name == key) return json;
  }
  return {};
}

std::string Trace::identity(std::int64_t pid_or_tid) const {
  if (pid_or_tid < kTextIdentity) return std::to_string(pid_or_tid);
  const auto id = pid_or_tid - kTextIdentity;
  if (static_cast<std::uint64_t>(id) >= strings.size()) {
    throw std::out_of_range("identity: " + std::to_string(pid_or_tid) +
                            " is not a pid or tid of this trace");
  }
  return std::string(strings.view(static_cast<std::uint32_t>(id)));
}

std::vector<std::string> Trace::read_args(std::span<const std::uint32_t> rows) const {
  std::vector<std::string> texts(rows.size());
  visit_args(rows, [&](std::size_t i, std::string_view text) { texts[i] = text; });
  return texts;
}

void Trace::visit_args(
    std::span<const std::uint32_t> rows,
    const std::function<void(std::size_t, std::string_view)>& visit) const {
  std::vector<std::size_t> order;  // of the rows that have args, by place
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] >= columns.size()) {
      throw std::invalid_argument("rows: " + std::to_string(rows[i]) +
                                  " is not below the number of events, " +
                                  std::to_string(columns.size()));
    }
    if (columns.args_length[rows[i]] > 0) order.push_back(i);
  }
  if (order.empty()) return;
  const auto before_in_file = [&](std::size_t a, std::size_t b) {
    return columns.args_offset[rows[a]] < columns.args_offset[rows[b]];
  };
  sort_runs(order, before_in_file);
  const bool odd = needs_mending(warnings);
  ForwardReader reader(*source);
  std::string_view text;
  std::string whole;  // where a text had to be mended
  const std::size_t* before = nullptr;
  for (const std::size_t& i : order) {
    const std::uint32_t row = rows[i];
    if (before == nullptr || rows[*before] != row) {
      text = reader.read(columns.args_offset[row], columns.args_length[row]);
      if (text.front() != '{' || text.back() != '}') {
        throw TraceError("changed", path,
                         "the file's content differs from the loaded one",
                         "Load the trace again.",
                         static_cast<std::int64_t>(columns.args_offset[row]), row);
      }
      if (odd) text = whole = mended(text);
    }
    visit(i, text);
    before = &i;
  }
}

}  // namespace tta::trace
