// SPDX-License-Identifier: BSD-3-Clause
// robust/mutation.h: damages a document in one of the ways files are damaged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace tta::robust {

using Random = std::mt19937_64;  // of one algorithm everywhere

/// Draws from [0, below). Not std::uniform_int_distribution, whose results are the
/// library's own.
inline std::size_t draw(Random& random, std::size_t below) {
  return static_cast<std::size_t>(random() % below);
}

/// Changes a text once: a bit, a byte, a stretch, a token, a number, a string, a whole
/// event. `others` lend tokens. The text does not grow beyond 64 KiB.
void mutate(std::string& text, const std::vector<std::string>& others, Random& random);

/// Changes compressed bytes once: a bit, a byte of header or trailer, a cut, a second
/// member, padding.
void mutate_gzip(std::string& bytes, Random& random);

}  // namespace tta::robust
