// SPDX-License-Identifier: BSD-3-Clause
// features/tokens.h: writes the tokens of windows, one window after the other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "features/token_columns.h"
#include "features/whole.h"
#include "timeline/windows.h"

namespace tta::features {

class TokenWriter {
 public:
  /// Refers to what it is given.
  explicit TokenWriter(const Whole& whole);

  /// Adds the tokens of a window, one for each of its rows (WindowRows::of) and in
  /// their order, at the end of `out`; those before are of the same device or process,
  /// or tied. Linear in the rows.
  void write(const timeline::Window& window, std::span<const std::uint32_t> rows,
             Tokens& out);

  /// Sets the edges of the tokens from `first` on, all of those of a device or process,
  /// which are of these rows. Linear.
  void tie(std::span<const std::uint32_t> rows, std::size_t first, Tokens& out);

 private:
  void write_lanes(std::span<const std::uint32_t> rows, std::size_t first, Tokens& out);
  void write_repeats(std::span<const std::uint32_t> rows, std::size_t first,
                     Tokens& out);
  void write_work(std::uint32_t row, std::size_t at, Tokens& out) const;

  const Whole& w_;
  // Of each row: the place of its token, if that is not tied yet, or -1.
  std::vector<std::int32_t> place_;
};

}  // namespace tta::features
