// SPDX-License-Identifier: BSD-3-Clause
// trace/progress.h: reports the progress of a load, ten times a second.
//
// This is also how a load is ended from outside, so nothing that may take long may do
// without it. Used by the thread that loads, and by no other.
#pragma once

#include <chrono>

#include "trace/trace.h"

namespace tta::trace {

class Progress {
 public:
  /// The options must outlive it.
  explicit Progress(const LoadOptions& options) : report_(options.progress) {}

  /// Throws what the caller's function throws.
  void operator()(const LoadProgress& done) {
    done_ = done;
    if (!report_) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(100)) return;
    last_ = now;
    report_(done);
  }

  /// For work that adds no events: reading on for a checksum, looking for a line.
  void again(double fraction) { (*this)({fraction, done_.text_bytes, done_.events}); }

 private:
  const std::function<void(const LoadProgress&)>& report_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  LoadProgress done_;
};

}  // namespace tta::trace
