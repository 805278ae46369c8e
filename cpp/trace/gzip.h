// SPDX-License-Identifier: BSD-3-Clause
// trace/gzip.h: inflates one gzip member after another, from memory to memory.
//
// ISA-L where it was found (TTA_HAVE_ISAL; three times as fast), zlib elsewhere.
// Both check the CRC and the length at the end of each member. Nothing is ever
// allocated by a length that a file states.
#pragma once

#include <cstddef>
#include <memory>

namespace tta::trace {

class Inflater {
 public:
  enum class Status {
    kMore,       ///< Wants more input, or more room for output.
    kMemberEnd,  ///< A member ended here and its CRC and length are right.
    kDamaged,    ///< The deflate data breaks its format.
    kBadCheck,   ///< The CRC or the length differs: the content is not the original.
    kBadHeader,  ///< No gzip header, or one of a kind never seen in practice.
  };

  Inflater();
  ~Inflater();

  /// Starts a new member: the next byte of input is the first of its header.
  void start();

  /// Inflates, moving `in` and `out` on. Never writes at or after `out_end`.
  Status run(const char*& in, const char* in_end, char*& out, char* out_end);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tta::trace
