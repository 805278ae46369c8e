// SPDX-License-Identifier: BSD-3-Clause
// trace/pftrace/packets.h: a file of Perfetto's, packet by packet.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "trace/source.h"

namespace tta::trace::pftrace {

/// Why a packet cannot be read.
class BadPacket : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Tells whether text that begins like this is a list of packets, and not JSON that
/// begins with an empty line, which has the same first byte.
bool begins_like_packets(std::string_view text);

/// Reads one after another; memory is that of the largest, at most kLongest. Packets
/// that were compressed together are delivered one by one.
class Packets {
 public:
  static constexpr std::uint64_t kLongest = std::uint64_t{1} << 30;

  /// `bytes` must outlive it. With `recover`, packets that cannot be read are skipped.
  Packets(TextReader& bytes, bool recover) : bytes_(bytes), recover_(recover) {}

  /// Returns the next packet, which is valid up to the next call; nothing at the end,
  /// or where damage ends the file.
  std::optional<std::string_view> next();
  /// Notes that the packet cannot be read. False if nothing after it is to be read.
  bool skip(const std::string& why);

  /// Bytes that were read so far, with what compressed packets hold.
  std::uint64_t size() const { return size_; }
  const Damage* damage() const { return damage_ ? &*damage_ : nullptr; }

 private:
  bool fill(std::size_t wanted);
  std::optional<std::string_view> next_stored();
  bool next_inner(std::string_view& packet);
  void note(const char* kind, const std::string& why, const char* hint);

  TextReader& bytes_;
  const bool recover_;
  std::string buffer_;
  std::size_t used_ = 0;      // of the buffer
  std::uint64_t begin_ = 0;   // of the buffer, in the file
  std::uint64_t offset_ = 0;  // of the current packet
  std::uint64_t size_ = 0;
  bool ended_ = false;
  std::string inner_;  // what a packet held compressed
  std::size_t inner_used_ = 0;
  std::optional<Damage> damage_;
};

}  // namespace tta::trace::pftrace
