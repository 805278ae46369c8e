// SPDX-License-Identifier: BSD-3-Clause
// trace/source.cpp: files and memory as bytes, plain text on top of them.
#include "trace/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "trace/pftrace/translation.h"
#include "trace/printable.h"

namespace tta::trace {
namespace {

// What tells one state of a file from another.
struct Stamp {
  std::uint64_t size = 0;
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;
  bool operator==(const Stamp&) const = default;
};

Stamp stamp_of(const struct stat& status) {
#ifdef __APPLE__
  const timespec& written = status.st_mtimespec;
#else
  const timespec& written = status.st_mtim;
#endif
  return {static_cast<std::uint64_t>(status.st_size), written.tv_sec, written.tv_nsec};
}

class OpenFile final : public ByteReader {
 public:
  explicit OpenFile(const std::string& path) : path_(path) {
    // O_NONBLOCK: opening a pipe without a writer must not block forever.
    descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor_ < 0) {
      throw FileNotFound(printable(path, 300) +
                         ": cannot be opened: " + std::strerror(errno));
    }
    struct stat status;
    if (fstat(descriptor_, &status) != 0) status = {};
    if (!S_ISREG(status.st_mode)) {
      close(descriptor_);
      const bool folder = S_ISDIR(status.st_mode);
      throw TraceError(
          folder ? "folder" : "not_a_file", path,
          folder ? "this is a folder, not a trace file"
                 : "this is a pipe or a device, not a trace file",
          folder ? "Give the path of one .json, .json.gz or .pftrace file in it."
                 : "Save its output to a file, or pass the bytes in Python.");
    }
    stamp_ = stamp_of(status);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() override { close(descriptor_); }

  const Stamp& stamp() const { return stamp_; }

  std::size_t read_at(std::uint64_t offset, char* to, std::size_t size) override {
    std::size_t done = 0;
    while (done < size) {
      const ssize_t n =
          pread(descriptor_, to + done, size - done, static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        throw TraceError(
            "read_error", path_,
            std::string("the system cannot read it: ") + std::strerror(errno),
            "Copy the file to another disk and try again.",
            static_cast<std::int64_t>(offset + done));
      }
      if (n == 0) break;
      done += static_cast<std::size_t>(n);
    }
    return done;
  }

 private:
  std::string path_;
  int descriptor_;
  Stamp stamp_;
};

class FileSource final : public Source {
 public:
  FileSource(const std::string& path, const Stamp& stamp, const LoadOptions& limits)
      : Source(path, stamp.size, limits), stamp_(stamp) {}

  bool changed() const override {
    struct stat status;
    return stat(path().c_str(), &status) == 0 && stamp_of(status) != stamp_;
  }

 private:
  std::unique_ptr<ByteReader> open_bytes() const override {
    auto opened = reopened();
    if (opened->stamp() != stamp_) {
      throw TraceError("changed", path(), "the file is not the one that was loaded",
                       "Load the trace again.");
    }
    return opened;
  }

  std::unique_ptr<OpenFile> reopened() const {
    try {
      return std::make_unique<OpenFile>(path());
    } catch (const FileNotFound& error) {
      throw FileNotFound(std::string(error.what()) +
                         ". It existed when it was loaded and has to be read again: "
                         "restore it, or load a copy that stays.");
    }
  }

  Stamp stamp_;
};

class MemoryReader final : public ByteReader {
 public:
  explicit MemoryReader(std::shared_ptr<const std::string> bytes)
      : bytes_(std::move(bytes)) {}

  std::size_t read_at(std::uint64_t offset, char* to, std::size_t size) override {
    if (offset >= bytes_->size()) return 0;
    size = std::min<std::uint64_t>(size, bytes_->size() - offset);
    std::memcpy(to, bytes_->data() + offset, size);
    return size;
  }

 private:
  std::shared_ptr<const std::string> bytes_;
};

class MemorySource final : public Source {
 public:
  MemorySource(std::string bytes, const LoadOptions& limits)
      : Source("<bytes>", bytes.size(), limits),
        bytes_(std::make_shared<const std::string>(std::move(bytes))) {}

 private:
  std::unique_ptr<ByteReader> open_bytes() const override {
    return std::make_unique<MemoryReader>(bytes_);
  }

  std::shared_ptr<const std::string> bytes_;  // a reader may outlive its source
};

class PlainReader final : public TextReader {
 public:
  PlainReader(std::unique_ptr<ByteReader> bytes, std::uint64_t size)
      : bytes_(std::move(bytes)), size_(size) {}

  std::size_t read(char* to, std::size_t size) override {
    const std::size_t n = bytes_->read_at(offset_, to, size);
    offset_ += n;
    return n;
  }
  void skip(std::uint64_t size) override { offset_ += size; }
  double progress() const override {
    return size_ == 0 ? 1.0 : static_cast<double>(offset_) / static_cast<double>(size_);
  }

 private:
  std::unique_ptr<ByteReader> bytes_;
  std::uint64_t size_;
  std::uint64_t offset_ = 0;
};

}  // namespace

std::shared_ptr<const Source> Source::file(const std::string& path,
                                           const LoadOptions& limits) {
  return std::make_shared<FileSource>(path, OpenFile(path).stamp(), limits);
}

std::shared_ptr<const Source> Source::memory(std::string bytes,
                                             const LoadOptions& limits) {
  return std::make_shared<MemorySource>(std::move(bytes), limits);
}

std::unique_ptr<TextReader> Source::unpacked() const {
  std::unique_ptr<ByteReader> bytes = open_bytes();
  char magic[2] = {};
  if (bytes->read_at(0, magic, 2) == 2 && magic[0] == '\x1f' && magic[1] == '\x8b') {
    return read_gzip(std::move(bytes), size_, limits_);
  }
  return std::make_unique<PlainReader>(std::move(bytes), size_);
}

std::shared_ptr<const pftrace::Index> Source::index() const {
  {
    const std::scoped_lock lock(mutex_);
    if (index_) return *index_;
  }
  std::shared_ptr<const pftrace::Index> made;
  std::string beginning(4096, '\0');
  beginning.resize(unpacked()->read(beginning.data(), beginning.size()));
  if (pftrace::begins_like_packets(beginning)) {
    const auto bytes = unpacked();
    made = std::make_shared<const pftrace::Index>(
        pftrace::make_index(*bytes, limits_.recover, [&] {
          if (limits_.progress) limits_.progress({});
        }));
  }
  const std::scoped_lock lock(mutex_);
  if (!index_) index_ = made;
  return *index_;
}

std::unique_ptr<TextReader> Source::open() const {
  auto packets = index();
  if (packets == nullptr) return unpacked();
  return read_pftrace(unpacked(), std::move(packets), limits_);
}

}  // namespace tta::trace
