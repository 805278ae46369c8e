// SPDX-License-Identifier: BSD-3-Clause
// trace/feed.cpp: text that was put back, then the rest.
#include "trace/feed.h"

#include <algorithm>
#include <cstring>

namespace tta::trace {

void Feed::put_back(std::string_view text) {
  if (text.empty()) return;
  if (used_ > 0) back_.front().erase(0, used_);
  used_ = 0;
  back_.emplace_front(text);
}

std::size_t Feed::read(char* to, std::size_t size) {
  std::size_t done = 0;
  while (!back_.empty() && done < size) {
    const std::size_t part = std::min(size - done, back_.front().size() - used_);
    std::memcpy(to + done, back_.front().data() + used_, part);
    done += part;
    used_ += part;
    if (used_ < back_.front().size()) continue;
    back_.pop_front();
    used_ = 0;
  }
  return done == size ? done : done + reader_->read(to + done, size - done);
}

void Feed::skip(std::uint64_t size) {
  while (!back_.empty() && size > 0) {
    const auto part = std::min<std::uint64_t>(size, back_.front().size() - used_);
    size -= part;
    used_ += static_cast<std::size_t>(part);
    if (used_ < back_.front().size()) continue;
    back_.pop_front();
    used_ = 0;
  }
  reader_->skip(size);
}

}  // namespace tta::trace
