// SPDX-License-Identifier: BSD-3-Clause
// detector/tensors_header.h: the JSON at the head of a safetensors file.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tta::detector {

/// A file of weights that is not to be used: what is wrong, where, and what to do.
struct WeightsError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Returns text of a file for a message: cut, and without what a terminal would obey.
std::string shown(std::string_view text);

/// A header's entry for a tensor, not yet checked against the file.
struct HeaderEntry {
  std::string name, dtype;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;  ///< Bytes, from the end of the header.
};

struct Header {
  std::map<std::string, std::string> metadata;
  std::vector<HeaderEntry> entries;  ///< As they come in the file.
};

/// Dimensions that a tensor may have at most.
inline constexpr std::size_t kMostDimensions = 8;

/// Parses a header: one object of objects, with exactly the fields of the format, then
/// nothing but spaces. Depth is fixed, so nothing recurses. Numbers are integers of at
/// most 18 digits; escapes beyond ASCII, and names or fields that come twice, are
/// refused. Throws WeightsError with the byte of the header.
Header parse_header(std::string_view text);

/// Writes a header that parse_header() reads back the same, padded with spaces to a
/// multiple of 8 bytes, so that the data behind it are aligned.
std::string write_header(const Header& header);

}  // namespace tta::detector
