// SPDX-License-Identifier: BSD-3-Clause
// features/pieces.h: the telling words of a name, hashed.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "features/token_columns.h"

namespace tta::features {

using Pieces = std::array<std::uint16_t, kPieces>;

/// Returns hashes, 1 to kPieceHashes, of the first words of a name; 0 where there are
/// no more.
///
/// A word is a run of letters, ended by anything else and by a capital after a small
/// letter, taken in small letters. Words of one letter, and those that are in nearly
/// every kernel's name (void, at, native, ...), are left out, and so is what is said
/// again. Numbers are no words: the shape of a tile or the number of a step says
/// nothing of the kind.
Pieces pieces_of(std::string_view name);

}  // namespace tta::features
