// SPDX-License-Identifier: BSD-3-Clause
// trace/source.h: where JSON text comes from: a file or memory, plain or gzip, or
// Perfetto's packets (trace/pftrace).
//
// Files are read into own buffers and never mapped: a file that is cut while it is
// mapped kills the process. A source is told apart by its content, not by its name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "trace/trace.h"

namespace tta::trace {

namespace pftrace {
struct Index;
}

/// Bytes as they are stored, before any decompression.
class ByteReader {
 public:
  virtual ~ByteReader() = default;
  /// Reads up to `size` bytes at `offset`; fewer only at the end.
  virtual std::size_t read_at(std::uint64_t offset, char* to, std::size_t size) = 0;
};

/// What is wrong with a container, found while reading the text out of it.
struct Damage {
  std::string kind;  ///< As in TraceError.
  std::string cause;
  std::string hint;
  std::uint64_t offset = 0;  ///< In the stored bytes.
  std::uint64_t times = 1;   ///< Damaged places; this is the first.
};

/// One pass over the JSON text, from its start. Not thread-safe.
class TextReader {
 public:
  virtual ~TextReader() = default;
  /// Reads the next `size` bytes; fewer only at the end of the text, or where damage
  /// ends it.
  virtual std::size_t read(char* to, std::size_t size) = 0;
  /// Drops the next `size` bytes, or what is left if that is less.
  virtual void skip(std::uint64_t size) = 0;
  /// Tells which part of the stored bytes has been used, 0 to 1.
  virtual double progress() const = 0;
  /// Returns what ended the text before its end, if anything did. All text before it
  /// was delivered, so that a message can say how much was sound.
  virtual const Damage* damage() const { return nullptr; }
};

/// Remembers a place of text so that passes over it can be started at any time, from
/// any thread.
class Source {
 public:
  /// Throws FileNotFound, or TraceError if `path` is not a regular file.
  static std::shared_ptr<const Source> file(const std::string& path,
                                            const LoadOptions& limits);
  static std::shared_ptr<const Source> memory(std::string bytes,
                                              const LoadOptions& limits);

  virtual ~Source() = default;

  /// Starts a pass. Throws FileNotFound, TraceError of kind "changed" if the file has
  /// another size or time stamp than at first. The first pass over Perfetto's packets
  /// reads them all before; what LoadOptions::progress throws then propagates.
  std::unique_ptr<TextReader> open() const;

  /// Tells whether another size or time stamp is there now than at first. One that is
  /// gone has not changed: what was read of it was whole.
  virtual bool changed() const { return false; }

  const std::string& path() const { return path_; }
  std::uint64_t stored_bytes() const { return size_; }

 protected:
  Source(std::string path, std::uint64_t size, const LoadOptions& limits)
      : path_(std::move(path)), size_(size), limits_(limits) {}

  virtual std::unique_ptr<ByteReader> open_bytes() const = 0;

 private:
  std::unique_ptr<TextReader> unpacked() const;
  std::shared_ptr<const pftrace::Index> index() const;

  std::string path_;
  std::uint64_t size_;
  LoadOptions limits_;
  mutable std::mutex mutex_;
  // Of Perfetto's packets; a null pointer if it is text. None before the first pass.
  mutable std::optional<std::shared_ptr<const pftrace::Index>> index_;
};

/// Reads gzip of any number of members.
std::unique_ptr<TextReader> read_gzip(std::unique_ptr<ByteReader> bytes,
                                      std::uint64_t size, const LoadOptions& limits);

}  // namespace tta::trace
