// SPDX-License-Identifier: BSD-3-Clause
// trace/feed.h: a text reader that takes text back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "trace/source.h"

namespace tta::trace {

/// Lets one way of reading hand over to another in the middle of a text. Not
/// thread-safe.
class Feed final : public TextReader {
 public:
  explicit Feed(std::unique_ptr<TextReader> reader) : reader_(std::move(reader)) {}

  /// Puts text back, to be read again before anything else.
  void put_back(std::string_view text);

  std::size_t read(char* to, std::size_t size) override;
  void skip(std::uint64_t size) override;
  double progress() const override { return reader_->progress(); }
  const Damage* damage() const override { return reader_->damage(); }

 private:
  std::unique_ptr<TextReader> reader_;
  std::deque<std::string> back_;  // the first comes first
  std::size_t used_ = 0;          // of the first
};

}  // namespace tta::trace
