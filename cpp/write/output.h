// SPDX-License-Identifier: BSD-3-Clause
// write/output.h: files and streams that say when they could not be written.
#pragma once

#include <functional>
#include <ostream>
#include <string>

namespace tta::write {

/// Makes a stream throw std::ios_base::failure while it lives.
class FailingStream {
 public:
  explicit FailingStream(std::ostream& out) : out_(out), before_(out.exceptions()) {
    out_.exceptions(std::ios::failbit | std::ios::badbit);
  }
  ~FailingStream() {
    try {
      out_.exceptions(before_);
    } catch (const std::ios_base::failure&) {
      // The stream has failed and would say so once more.
    }
  }
  FailingStream(const FailingStream&) = delete;
  FailingStream& operator=(const FailingStream&) = delete;

 private:
  std::ostream& out_;
  std::ios::iostate before_;
};

/// Writes a file as plain text, by what `write` puts into a stream that throws. If
/// writing fails, a part of it stays: whom that must not happen to writes beside a file
/// and moves the new one into its place, as Python does (base/files.py). Throws
/// std::invalid_argument if the file cannot be written, or its name promises gzip, and
/// what `write` throws.
void write_file(const std::string& path,
                const std::function<void(std::ostream&)>& write);

}  // namespace tta::write
