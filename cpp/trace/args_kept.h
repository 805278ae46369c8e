// SPDX-License-Identifier: BSD-3-Clause
// trace/args_kept.h: the members of args that every analysis reads, kept from the load.
//
// Args are the greater part of a trace and not kept, but shapes of kernels, inputs of
// operators and what collectives say are asked of nearly all rows: to read them later
// is to read the file, and to inflate a gzip stream, a second time. Few differ, so that
// each text is kept once.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/number.h"
#include "trace/string_pool.h"

namespace tta::trace {

/// Keys that are kept. Keys that share their first seven letters are kept as well:
/// readers of a text look for whole keys.
inline constexpr std::array<std::string_view, 32> kKeptKeys = {
    "grid",
    "grid dim",
    "block",
    "block dim",
    "blocks per SM",
    "registers per thread",
    "shared memory",
    "shared size",
    "est. achieved occupancy %",
    "occupancy",
    "warps per SM",
    "bytes",
    "size",
    "memory bandwidth (GB/s)",
    "graph id",
    "Collective name",
    "dtype",
    "Process Group Name",
    "Process Group Ranks",
    "Src Rank",
    "Dst Rank",
    "In msg nelems",
    "Out msg nelems",
    "Group size",
    "Seq",
    "Input Dims",
    "Input dims",
    "Input Strides",
    "Input type",
    "Concrete Inputs",
    "name",
    "direction"};

namespace detail {

struct KeptKey {
  std::uint64_t word = 0;  // the token's first eight bytes, as far as they are its own
  std::uint64_t mask = 0;
};

// Keys by their first three letters.
struct KeptTable {
  static constexpr int kBits = 7;
  static constexpr std::size_t kAlike = 4;
  std::array<std::array<KeptKey, kAlike>, 1 << kBits> slots;
  std::uint32_t factor = 0;

  static constexpr std::size_t slot_of(std::uint64_t token, std::uint32_t factor) {
    return (static_cast<std::uint32_t>(token) * factor) >> (32 - kBits);
  }
};

constexpr KeptKey kept_key(std::string_view name) {
  KeptKey out;
  for (std::size_t i = 0; i < 8 && i < name.size() + 2; ++i) {
    const char ch = i == 0 || i == name.size() + 1 ? '"' : name[i - 1];
    out.word |= std::uint64_t{static_cast<unsigned char>(ch)} << (8 * i);
    out.mask |= std::uint64_t{0xff} << (8 * i);
  }
  return out;
}

// Tries factors until no slot is asked to hold more than it can; the compiler does it.
constexpr KeptTable make_kept_table() {
  for (std::uint32_t factor = 0x9E3779B1u;; factor += 2) {
    KeptTable table;
    table.factor = factor;
    bool fits = true;
    for (const auto name : kKeptKeys) {
      const auto key = kept_key(name);
      auto& slot = table.slots[KeptTable::slot_of(key.word, factor)];
      std::size_t at = 0;
      while (at < slot.size() && slot[at].mask != 0) ++at;
      fits = fits && at < slot.size();
      if (at < slot.size()) slot[at] = key;
    }
    if (fits) return table;
  }
}

inline constexpr KeptTable kKeptTable = make_kept_table();

}  // namespace detail

/// Tells whether the member is kept whose key's first quote is at `token`, with at
/// least eight bytes to read from there on.
inline bool is_kept(const char* token) {
  const auto head = detail::load8(token);
  const auto& table = detail::kKeptTable;
  for (const auto& key : table.slots[detail::KeptTable::slot_of(head, table.factor)]) {
    if (key.mask == 0) return false;
    if ((head & key.mask) == key.word) return true;
  }
  return false;
}

/// Returns the members of an object that are kept, as an object; "" if there are none.
std::string kept_members(std::string_view object);

/// Texts by row. Each is a JSON object with the members that are kept, as they stand in
/// the file and in their order.
class KeptArgs {
 public:
  /// As if all that was read were this long: nothing is too much.
  static constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 62;

  /// Keeps what a row says, one beyond all before. Where so little repeats that all the
  /// texts would be more than a sixteenth of what was read (`read_bytes`, and 64 KiB),
  /// gives up and keeps nothing.
  void add(std::uint32_t row, std::string_view object, std::uint64_t read_bytes);

  /// What was added since the last part.
  struct Part {
    std::vector<std::uint32_t> rows, texts;
    std::vector<std::string_view> new_texts;  ///< Views that hold as long as the whole.
    bool complete = true;
  };
  /// Hands it over; `known` is how many texts were handed over before, and moves on.
  void take_part(Part& part, std::size_t& known);
  /// Adds it, its rows counted from `first_row`. `texts` are the numbers here of those
  /// that were handed over, and grows.
  void add_part(const Part& part, std::uint32_t first_row,
                std::vector<std::uint32_t>& texts, std::uint64_t read_bytes);

  /// Tells whether all rows are here that have such a member.
  bool complete() const { return complete_; }
  /// Rows with a text, ascending, and the number of the text of each.
  const std::vector<std::uint32_t>& rows() const { return rows_; }
  const std::vector<std::uint32_t>& texts() const { return texts_; }
  /// How many texts there are; number 0 is the empty one, and no row's.
  std::size_t size() const { return pool_.size(); }
  std::string_view text(std::uint32_t number) const { return pool_.view(number); }
  /// Returns the number of a text with the members of both, those of `b` last.
  std::uint32_t join(std::uint32_t a, std::uint32_t b);
  /// Puts other rows in the place of all: the number of the text of each row,
  /// 0 without one.
  void replace(const std::vector<std::uint32_t>& text_of_row);
  /// After the last row: keeps nothing unless all texts are `sound`, and gives back the
  /// memory of what is not kept.
  void finish(bool sound);

 private:
  void give_up();
  std::uint32_t number_of(std::string_view text, std::uint64_t read_bytes);

  StringPool pool_;
  std::uint64_t bytes_ = 0;  // in it
  std::vector<std::uint32_t> rows_, texts_;
  bool complete_ = true;
};

}  // namespace tta::trace
