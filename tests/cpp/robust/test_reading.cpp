// SPDX-License-Identifier: BSD-3-Clause
// robust/test_reading.cpp: when reading a file fails in the middle, a TraceError.
//
// Replaces the system call by one whose n-th call fails, for each n.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>

#include "pipeline/analyze.h"
#include "robust/seeds.h"
#include "support/outcome.h"
#include "trace/error.h"

namespace {

enum class Failure { kNone, kDevice, kEnd, kInterrupt, kShort };

std::atomic<Failure> failure = Failure::kNone;
std::atomic<std::int64_t> calls_left = 0;

}  // namespace

// Comes before the one of the C library, or of a sanitizer.
extern "C" ssize_t pread(int file, void* to, size_t size, off_t offset) {
  const bool now = failure != Failure::kNone && --calls_left < 0;
  if (now && failure == Failure::kDevice) {
    errno = EIO;
    return -1;
  }
  if (now && failure == Failure::kEnd) return 0;
  if (now && failure == Failure::kInterrupt && calls_left % 2 != 0) {
    errno = EINTR;
    return -1;
  }
  if (now && failure == Failure::kShort && size > 7) size = 7;
  return syscall(SYS_pread64, file, to, size, offset);
}

namespace tta::robust {
namespace {

struct Way {
  bool gzip;
  unsigned threads;
};

class Reading : public testing::TestWithParam<Way> {
 protected:
  Reading() {
    std::ofstream(path_, std::ios::binary) << (GetParam().gzip ? gzip(text_) : text_);
    options_.threads = GetParam().threads;
    options_.window_bytes = 500;
    options_.block_bytes = 2000;
  }
  ~Reading() override {
    failure = Failure::kNone;
    std::filesystem::remove(path_);
  }

  // Loads with all reads from the n-th on failing. Returns the kind of the error, ""
  // if there was none.
  std::string load(Failure how, std::int64_t n) {
    failure = how;
    calls_left = n;
    std::string kind;
    try {
      const auto trace = trace::load_file(path_, options_);
      reached_ = calls_left < 0;
      failure = Failure::kNone;
      EXPECT_EQ(test::difference(trace, control()), "") << n;
    } catch (const trace::TraceError& error) {
      reached_ = calls_left < 0;
      kind = error.kind();
      EXPECT_EQ(error.path(), path_);
      EXPECT_FALSE(error.hint().empty());
    }
    failure = Failure::kNone;
    return kind;
  }

  trace::Trace control() const { return trace::load_bytes(text_); }

  const std::string text_ = prefix_seed();
  const std::string path_ =
      testing::TempDir() + "robust-reading-" + std::to_string(getpid()) + ".json";
  trace::LoadOptions options_;
  bool reached_ = false;  // the read that was to fail was made
};

TEST_P(Reading, DeviceErrorsAreNamed) {
  int failed = 0;
  for (std::int64_t n = 0;; ++n) {
    const std::string kind = load(Failure::kDevice, n);
    if (!reached_) {
      EXPECT_EQ(kind, "");
      break;
    }
    EXPECT_EQ(kind, "read_error") << n;
    ++failed;
  }
  // A gzip of this size is read at once: its beginning, and all.
  EXPECT_GE(failed, GetParam().gzip ? 2 : 10);
}

TEST_P(Reading, FilesThatShrinkAreRefused) {
  const std::set<std::string> cut = {"truncated", "empty", "gzip_truncated",
                                     "gzip_damaged", "not_json"};
  for (std::int64_t n = 0;; ++n) {
    const std::string kind = load(Failure::kEnd, n);
    if (!reached_) break;
    // The last read of all finds the end, whether or not it is one.
    if (kind.empty()) {
      EXPECT_GE(n, 2);
    } else {
      EXPECT_TRUE(cut.contains(kind)) << n << ": " << kind;
    }
  }
}

TEST_P(Reading, InterruptedAndShortReadsAreContinued) {
  for (std::int64_t n = 0; n < 10; ++n) {
    EXPECT_EQ(load(Failure::kInterrupt, n), "");
    EXPECT_EQ(load(Failure::kShort, n), "");
  }
}

TEST_P(Reading, ArgsFailAsTraceErrors) {
  const auto trace = trace::load_file(path_, options_);
  std::vector<std::uint32_t> rows(trace.columns.size());
  std::iota(rows.begin(), rows.end(), 0u);
  for (const Failure how : {Failure::kDevice, Failure::kEnd}) {
    for (std::int64_t n = 0; n < 2; ++n) {
      failure = how;
      calls_left = n;
      EXPECT_THROW((void)trace.read_args(rows), trace::TraceError);
      failure = Failure::kNone;
    }
  }
}

TEST_P(Reading, ArgsOfFilesCutMeanwhileAreRefused) {
  const std::uintmax_t whole = std::filesystem::file_size(path_);
  const auto trace = trace::load_file(path_, options_);
  std::vector<std::uint32_t> rows(trace.columns.size());
  std::iota(rows.begin(), rows.end(), 0u);
  for (std::uintmax_t size = whole; size-- > 0; size -= std::min(size, whole / 20)) {
    std::filesystem::resize_file(path_, size);
    EXPECT_THROW((void)trace.read_args(rows), trace::TraceError) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, Reading,
                         testing::Values(Way{false, 1}, Way{false, 2}, Way{true, 1},
                                         Way{true, 2}),
                         [](const auto& info) {
                           return std::string(info.param.gzip ? "Gzip" : "Plain") +
                                  std::to_string(info.param.threads);
                         });

}  // namespace
}  // namespace tta::robust
