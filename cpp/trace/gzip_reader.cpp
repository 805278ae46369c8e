// SPDX-License-Identifier: BSD-3-Clause
// trace/gzip_reader.cpp: a gzip file of any number of members as one text.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "trace/gzip.h"
#include "trace/source.h"

namespace tta::trace {
namespace {

constexpr std::size_t kInputBytes = std::size_t{256} << 10;
// Small traces may be anything: a ratio says nothing about a few repeated events.
constexpr std::uint64_t kRatioExempt = std::uint64_t{64} << 20;

constexpr const char* kAgain =
    "Copy or download the file again, or use recover (recover=True, --recover) to read "
    "the rest.";

class GzipReader final : public TextReader {
 public:
  GzipReader(std::unique_ptr<ByteReader> bytes, std::uint64_t size,
             const LoadOptions& limits)
      : bytes_(std::move(bytes)), size_(size), limits_(limits), input_(kInputBytes) {
    start_member();
  }

  std::size_t read(char* to, std::size_t size) override {
    char* out = to;
    char* const out_end = to + size;
    while (out < out_end && !done_) step(out, out_end);
    return static_cast<std::size_t>(out - to);
  }

  void skip(std::uint64_t size) override {
    std::vector<char> scratch(std::min<std::uint64_t>(size, kInputBytes));
    while (size > 0) {
      const auto part = std::min<std::uint64_t>(size, scratch.size());
      const std::size_t n = read(scratch.data(), part);
      if (n < part) return;
      size -= n;
    }
  }

  double progress() const override {
    return static_cast<double>(position()) / static_cast<double>(size_);
  }

  const Damage* damage() const override { return damage_ ? &*damage_ : nullptr; }

 private:
  void step(char*& out, char* out_end) {
    // Without input the inflater may still hold output that found no room before.
    if (at_ == end_) refill();
    const char* const at_before = at_;
    const char* const out_before = out;
    const Inflater::Status status = inflater_.run(at_, end_, out, out_end);
    produced_ += static_cast<std::uint64_t>(out - out_before);
    switch (status) {
      case Inflater::Status::kMore:
        if (at_ != at_before || out != out_before) break;
        if (at_ != end_)
          return fail("gzip_damaged", "the gzip data is damaged", kAgain);
        return fail(
            "gzip_truncated", "the gzip data ends in the middle: the file was cut",
            "Copy or download it again; if the run was killed, record again, or use "
            "recover (recover=True, --recover) to read the rest.");
      case Inflater::Status::kMemberEnd:
        ++members_;
        next_member();
        break;
      case Inflater::Status::kDamaged:
        return fail("gzip_damaged", "the gzip data is damaged", kAgain);
      case Inflater::Status::kBadCheck:
        return fail("gzip_checksum",
                    "the gzip checksum does not match: the content differs from the "
                    "one written",
                    kAgain);
      case Inflater::Status::kBadHeader:
        return fail_header();
    }
    check_limits();
  }

  // How many compressed bytes have been used.
  std::uint64_t position() const {
    return loaded_ - static_cast<std::uint64_t>(end_ - at_);
  }

  bool refill() {
    const std::size_t n = bytes_->read_at(loaded_, input_.data(), input_.size());
    loaded_ += n;
    at_ = input_.data();
    end_ = at_ + n;
    return n > 0;
  }

  // What may follow a member: another one, zeros to the end (tape blocks), nothing.
  void next_member() {
    if (at_ == end_ && !refill()) {
      done_ = true;
      return;
    }
    if (*at_ == '\x1f') return start_member();
    do {
      at_ = std::find_if(at_, end_, [](char c) { return c != '\0'; });
      if (at_ != end_) return fail_trailing();
    } while (refill());
    done_ = true;
  }

  void check_limits() {
    if (damage_) return;
    if (produced_ > limits_.max_text_bytes) {
      return fail(
          "gzip_limit",
          "it inflates to more than the limit of " +
              std::to_string(limits_.max_text_bytes) + " bytes",
          "If the trace is meant to be this large, raise the limit (max_text_bytes=, "
          "--max-text-bytes), or unpack it with gunzip first.");
    }
    const double most = limits_.max_ratio * static_cast<double>(size_);
    if (produced_ > kRatioExempt && static_cast<double>(produced_) > most) {
      fail("gzip_bomb",
           "it inflates to more than " +
               std::to_string(std::llround(limits_.max_ratio)) +
               " times its size, where a trace shrinks 10 to 20 times",
           "If the file is trusted, raise the limit (max_ratio=, --max-ratio), or "
           "unpack it with gunzip first.");
    }
  }

  // ISA-L overlooks flags that RFC 1952 reserves, and says must be refused.
  void start_member() {
    constexpr unsigned kReserved = 0xE0;
    char flags = 0;
    bytes_->read_at(position() + 3, &flags, 1);
    if ((static_cast<unsigned char>(flags) & kReserved) != 0) return fail_header();
    inflater_.start();
  }

  void fail_header() {
    if (members_ > 0) return fail_trailing();
    fail("gzip_header", "the gzip header is not valid",
         "Copy or download the file again.");
  }

  void fail_trailing() {
    fail("gzip_trailing", "data that is not gzip follows the gzip data", kAgain);
  }

  void fail(const char* kind, std::string cause, const char* hint) {
    damage_ = {kind, std::move(cause), hint, position()};
    done_ = true;
  }

  std::unique_ptr<ByteReader> bytes_;
  std::uint64_t size_;
  LoadOptions limits_;
  std::vector<char> input_;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::uint64_t loaded_ = 0;
  std::uint64_t produced_ = 0;
  std::uint64_t members_ = 0;
  bool done_ = false;
  std::optional<Damage> damage_;
  Inflater inflater_;
};

}  // namespace

std::unique_ptr<TextReader> read_gzip(std::unique_ptr<ByteReader> bytes,
                                      std::uint64_t size, const LoadOptions& limits) {
  return std::make_unique<GzipReader>(std::move(bytes), size, limits);
}

}  // namespace tta::trace
