// SPDX-License-Identifier: BSD-3-Clause
// trace/gzip.cpp: the two inflaters behind one interface.
#include "trace/gzip.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <string_view>

#ifdef TTA_HAVE_ISAL
#include <isa-l/igzip_lib.h>
#else
#include <zlib.h>
#endif

namespace tta::trace {
namespace {

// Both libraries count in 32 bits.
std::uint32_t clamp(std::ptrdiff_t size) {
  return static_cast<std::uint32_t>(
      std::min<std::ptrdiff_t>(size, std::numeric_limits<std::uint32_t>::max() / 2));
}

}  // namespace

#ifdef TTA_HAVE_ISAL

struct Inflater::Impl {
  inflate_state state;
  int failure = ISAL_DECOMP_OK;  // the first error; nothing is inflated after it
};

Inflater::Inflater() : impl_(std::make_unique<Impl>()) {
  isal_inflate_init(&impl_->state);
}

Inflater::~Inflater() = default;

void Inflater::start() {
  isal_inflate_reset(&impl_->state);
  impl_->failure = ISAL_DECOMP_OK;
  impl_->state.crc_flag = ISAL_GZIP;
}

Inflater::Status Inflater::run(const char*& in, const char* in_end, char*& out,
                               char* out_end) {
  inflate_state& state = impl_->state;
  // The library does not write to its input; its interface predates const.
  state.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(in));
  state.avail_in = clamp(in_end - in);
  state.next_out = reinterpret_cast<std::uint8_t*>(out);
  state.avail_out = clamp(out_end - out);
  if (impl_->failure == ISAL_DECOMP_OK) {
    const int code = isal_inflate(&state);
    if (code != ISAL_END_INPUT) impl_->failure = code;
  }
  in = reinterpret_cast<const char*>(state.next_in);
  out = reinterpret_cast<char*>(state.next_out);
  if (impl_->failure != ISAL_DECOMP_OK) {
    // What was inflated before the damage, and had no room, is still in the library's
    // own buffer. Without it, what a damaged file gives would depend on that room.
    const std::uint8_t* const held = state.tmp_out_buffer + state.tmp_out_processed;
    const std::ptrdiff_t n = std::min<std::ptrdiff_t>(
        state.tmp_out_valid - state.tmp_out_processed, out_end - out);
    if (n > 0) {
      out = std::copy(held, held + n, out);
      state.tmp_out_processed += static_cast<std::int32_t>(n);
    }
    if (state.tmp_out_processed < state.tmp_out_valid) return Status::kMore;
  }
  switch (impl_->failure) {
    case ISAL_DECOMP_OK:
      return state.block_state == ISAL_BLOCK_FINISH ? Status::kMemberEnd
                                                    : Status::kMore;
    case ISAL_INCORRECT_CHECKSUM:
      return Status::kBadCheck;
    case ISAL_INVALID_WRAPPER:
    case ISAL_UNSUPPORTED_METHOD:
      return Status::kBadHeader;
    default:
      return Status::kDamaged;
  }
}

#else

struct Inflater::Impl {
  z_stream stream{};
  bool ready = false;
};

Inflater::Inflater() : impl_(std::make_unique<Impl>()) {
  constexpr int kGzipOnly = 15 + 16;
  if (inflateInit2(&impl_->stream, kGzipOnly) != Z_OK) throw std::bad_alloc();
}

Inflater::~Inflater() { inflateEnd(&impl_->stream); }

void Inflater::start() { inflateReset(&impl_->stream); }

Inflater::Status Inflater::run(const char*& in, const char* in_end, char*& out,
                               char* out_end) {
  z_stream& stream = impl_->stream;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in));
  stream.avail_in = clamp(in_end - in);
  stream.next_out = reinterpret_cast<Bytef*>(out);
  stream.avail_out = clamp(out_end - out);
  const int code = inflate(&stream, Z_NO_FLUSH);
  in = reinterpret_cast<const char*>(stream.next_in);
  out = reinterpret_cast<char*>(stream.next_out);
  switch (code) {
    case Z_OK:
    case Z_BUF_ERROR:  // no progress was possible: input or room is missing
      return Status::kMore;
    case Z_STREAM_END:
      return Status::kMemberEnd;
    case Z_MEM_ERROR:
      throw std::bad_alloc();
    default:
      break;
  }
  // zlib has one code for all damage; its message tells which.
  const std::string_view message = stream.msg ? stream.msg : "";
  if (message == "incorrect header check" || message.starts_with("unknown ") ||
      message.starts_with("header ")) {
    return Status::kBadHeader;
  }
  return message.ends_with(" check") ? Status::kBadCheck : Status::kDamaged;
}

#endif

}  // namespace tta::trace
