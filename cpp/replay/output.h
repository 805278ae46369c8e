// SPDX-License-Identifier: BSD-3-Clause
// replay/output.h: files and streams that say when they could not be written.
#pragma once

#include <fstream>
#include <ostream>
#include <string>

namespace tta::replay {

/// Makes a stream throw std::ios_base::failure while it lives.
class FailingStream {
 public:
  explicit FailingStream(std::ostream& out) : out_(out), before_(out.exceptions()) {
    out_.exceptions(std::ios::failbit | std::ios::badbit);
  }
  ~FailingStream() { out_.exceptions(before_); }
  FailingStream(const FailingStream&) = delete;
  FailingStream& operator=(const FailingStream&) = delete;

 private:
  std::ostream& out_;
  std::ios::iostate before_;
};

/// Opens a file to be written anew, as plain text. Throws std::invalid_argument if it
/// cannot be, or if its name promises gzip.
std::ofstream open_output(const std::string& path);

}  // namespace tta::replay
