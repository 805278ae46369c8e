// SPDX-License-Identifier: BSD-3-Clause
// support/gzip.h: compresses what tests load.
#pragma once

#include <zlib.h>

#include <new>
#include <string>
#include <string_view>

namespace tta::test {

/// Compresses as one gzip member, at a level of zlib from 1 (fast) to 9.
inline std::string gzip(std::string_view text, int level = 6) {
  z_stream stream{};
  constexpr int kGzip = 15 + 16;
  if (deflateInit2(&stream, level, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();
  }
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace tta::test
