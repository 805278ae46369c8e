// SPDX-License-Identifier: BSD-3-Clause
// features/pieces.cpp: cuts names into words.
#include "features/pieces.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "features/feature_table.h"

namespace tta::features {
namespace {

constexpr std::array<std::string_view, 22> kTellNothing = {
    "void",   "at",         "native", "anonymous", "namespace", "const",
    "char",   "int",        "long",   "unsigned",  "std",       "detail",
    "lambda", "operator",   "auto",   "array",     "trivial",   "offset",
    "bool",   "calculator", "memory", "default"};

}  // namespace

Pieces pieces_of(std::string_view name) {
  Pieces out{};
  std::size_t count = 0;
  std::string word;
  const auto end_word = [&] {
    if (word.size() > 1 && std::find(kTellNothing.begin(), kTellNothing.end(), word) ==
                               kTellNothing.end()) {
      const auto piece = static_cast<std::uint16_t>(1 + hash(word) % kPieceHashes);
      const auto last = out.begin() + static_cast<std::ptrdiff_t>(count);
      if (std::find(out.begin(), last, piece) == last) out[count++] = piece;
    }
    word.clear();
  };
  bool small = false;
  for (const auto at : name) {
    const auto ch = static_cast<unsigned char>(at);
    // Bytes beyond ASCII are letters of some alphabet.
    const bool letter = std::isalpha(ch) != 0 || ch >= 128;
    if (!letter || (small && std::isupper(ch) != 0)) end_word();
    if (count == out.size()) return out;
    small = letter && std::islower(ch) != 0;
    if (letter) word += static_cast<char>(ch < 128 ? std::tolower(ch) : ch);
  }
  end_word();
  return out;
}

}  // namespace tta::features
