// SPDX-License-Identifier: BSD-3-Clause
// trace/pftrace/packets.cpp: lengths, and packets inside packets.
#include "trace/pftrace/packets.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <new>
#include <protozero/pbf_message.hpp>

#include "trace/pftrace/fields.h"

namespace tta::trace::pftrace {
namespace {

using protozero::pbf_message;
using protozero::pbf_wire_type;

constexpr char kTag = 0x0A;  // field 1, with a length
constexpr std::size_t kPart = std::size_t{256} << 10;
constexpr std::size_t kLongestHead = 1 + protozero::max_varint_length;
// Packets compressed together inflate to ten times their size or so.
constexpr std::size_t kMostInflated = 100;

constexpr const char* kAgain =
    "Copy or record the file again, or use recover (recover=True, --recover) to read "
    "the other packets.";

// Returns the content of the compressed packets in this one, if there are any.
std::optional<std::string_view> compressed(std::string_view packet) {
  pbf_message<Packet> message{packet};
  if (message.next(Packet::kCompressed, pbf_wire_type::length_delimited)) {
    return message.get_view();
  }
  return {};
}

std::string inflated(std::string_view data) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) throw std::bad_alloc();
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  std::string out;
  std::array<char, kPart> part;
  int code = Z_OK;
  const std::size_t most =
      std::min<std::size_t>(Packets::kLongest, kPart + kMostInflated * data.size());
  while (code == Z_OK && out.size() <= most) {
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = kPart;
    code = inflate(&stream, Z_NO_FLUSH);
    out.append(part.data(), kPart - stream.avail_out);
  }
  inflateEnd(&stream);
  if (code == Z_MEM_ERROR) throw std::bad_alloc();
  if (code != Z_STREAM_END) {
    throw BadPacket(code == Z_OK ? "a compressed packet inflates beyond its limit"
                                 : "a compressed packet is damaged");
  }
  return out;
}

}  // namespace

bool begins_like_packets(std::string_view text) {
  if (text.size() < 2 || text.front() != kTag) return false;
  const char* at = text.data() + 1;
  const char* const end = text.data() + text.size();
  try {
    const auto length = protozero::decode_varint(&at, end);
    const auto there = static_cast<std::uint64_t>(end - at);
    if (length == 0) return false;
    const std::string_view packet(at, std::min(length, there));
    pbf_message<Packet> message{packet};
    if (!message.next()) return false;
    // White space and quotes of JSON would be these fields, with which no trace begins.
    const auto first = static_cast<std::uint32_t>(message.tag());
    if (first == 1 || first == 4) return false;
    do {
      // Others, which brackets and digits would be, no packet has.
      const auto form = message.wire_type();
      if (form != pbf_wire_type::varint && form != pbf_wire_type::length_delimited) {
        return false;
      }
      message.skip();
    } while (message.next());
    return true;
  } catch (const protozero::end_of_buffer_exception&) {
    return true;  // cut, or longer than what is looked at
  } catch (const protozero::exception&) {
    return false;
  }
}

// Makes `wanted` bytes available behind what is used; false if the file has fewer.
bool Packets::fill(std::size_t wanted) {
  while (buffer_.size() - used_ < wanted) {
    if (used_ > 0) {
      begin_ += used_;
      buffer_.erase(0, used_);
      used_ = 0;
    }
    // By parts: no memory is taken because a file states a length.
    const auto before = buffer_.size();
    const auto part = std::max(kPart, std::min(before, wanted - before));
    buffer_.resize(before + part);
    const auto read = bytes_.read(buffer_.data() + before, part);
    buffer_.resize(before + read);
    size_ += read;
    if (read < part) return buffer_.size() >= wanted;
  }
  return true;
}

std::optional<std::string_view> Packets::next_stored() {
  if (ended_) return {};
  fill(kLongestHead);
  offset_ = begin_ + used_;
  const std::string_view head = std::string_view(buffer_).substr(used_, kLongestHead);
  if (head.empty()) return {};
  const auto cut = [&] {
    note("pftrace_truncated", "the file ends inside a packet: it was cut", kAgain);
    return std::nullopt;
  };
  if (head.front() != kTag) {
    note("pftrace_damaged", "no packet begins where one should", kAgain);
    return {};
  }
  const char* at = head.data() + 1;
  std::uint64_t length = 0;
  try {
    length = protozero::decode_varint(&at, head.data() + head.size());
  } catch (const protozero::end_of_buffer_exception&) {
    return cut();
  } catch (const protozero::varint_too_long_exception&) {
    note("pftrace_damaged", "the length of a packet is not a number", kAgain);
    return {};
  }
  const auto start = static_cast<std::size_t>(at - head.data());
  if (length > kLongest) {
    note("pftrace_damaged", "a packet states a length of more than 1 GiB", kAgain);
    return {};
  }
  if (!fill(start + length)) return cut();
  const auto begin = used_ + start;
  used_ = begin + length;
  return std::string_view(buffer_).substr(begin, length);
}

// Takes the next of the packets that were compressed together.
bool Packets::next_inner(std::string_view& packet) {
  const auto rest = std::string_view(inner_).substr(inner_used_);
  pbf_message<TraceField> message{rest};
  while (message.next()) {
    if (message.tag_and_type() !=
        protozero::tag_and_type(TraceField::kPacket, pbf_wire_type::length_delimited)) {
      message.skip();
      continue;
    }
    packet = message.get_view();
    inner_used_ =
        static_cast<std::size_t>(packet.data() + packet.size() - inner_.data());
    return true;
  }
  inner_.clear();
  inner_used_ = 0;
  return false;
}

std::optional<std::string_view> Packets::next() {
  for (;;) {
    std::string_view packet;
    try {
      if (!inner_.empty()) {
        if (!next_inner(packet)) continue;
        if (compressed(packet)) throw BadPacket("compressed packets are nested");
        return packet;
      }
      const auto stored = next_stored();
      if (!stored) return {};
      const auto data = compressed(*stored);
      if (!data) return stored;
      inner_ = inflated(*data);
      size_ += inner_.size();
    } catch (const protozero::exception&) {
      inner_.clear();
      inner_used_ = 0;
      if (!skip("a packet breaks the form of a protobuf")) return {};
    } catch (const BadPacket& bad) {
      if (!skip(bad.what())) return {};
    }
  }
}

bool Packets::skip(const std::string& why) {
  const bool before = ended_;
  note("pftrace_damaged", why, kAgain);
  ended_ = before || !recover_;
  if (ended_) inner_.clear();
  return !ended_;
}

// Reports the first damage, counts all.
void Packets::note(const char* kind, const std::string& why, const char* hint) {
  ended_ = true;
  if (damage_) {
    ++damage_->times;
  } else {
    damage_ = {kind, why, hint, offset_};
  }
}

}  // namespace tta::trace::pftrace
