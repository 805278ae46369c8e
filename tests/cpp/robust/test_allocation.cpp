// SPDX-License-Identifier: BSD-3-Clause
// robust/test_allocation.cpp: when memory runs out, std::bad_alloc and no leak.
//
// Leaks are found by the sanitizer at exit. Not covered: memory that libraries take by
// malloc (zlib, where there is no ISA-L, and the C library).
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <new>
#include <numeric>

#include "pipeline/analyze.h"
#include "robust/scarcity.h"
#include "robust/seeds.h"
#include "support/outcome.h"

namespace tta::robust {
namespace {

// Runs with the n-th allocation failing, for n = 0 to 500 and then ever sparser, until
// nothing fails any more. Returns how often memory ran out.
int fail_each(const std::function<void()>& run) {
  int ran_out = 0;
  for (std::int64_t n = 0;; n += n < 500 ? 1 : n / 16) {
    allocations_left = n;
    bool failed = false;
    try {
      run();
    } catch (const std::bad_alloc&) {
      failed = true;
    } catch (...) {
      allocations_left = kNever;
      ADD_FAILURE() << "allocation " << n << " fails as something else";
      throw;
    }
    const bool reached = allocations_left < 0;
    allocations_left = kNever;
    ran_out += failed;
    if (!reached) return ran_out;
  }
}

trace::LoadOptions tiny(unsigned threads, bool recover) {
  trace::LoadOptions options;
  options.threads = threads;
  options.window_bytes = 300;
  options.block_bytes = 1000;
  options.recover = recover;
  return options;
}

class Allocation : public testing::TestWithParam<unsigned> {
 protected:
  const std::string text_ = prefix_seed();
  const unsigned threads_ = GetParam();
};

TEST_P(Allocation, LoadFails) {
  const trace::LoadOptions options = tiny(threads_, false);
  for (const std::string& bytes : {text_, gzip(text_)}) {
    EXPECT_GT(fail_each([&] { (void)trace::load_bytes(bytes, options); }), 50);
  }
}

TEST_P(Allocation, LoadOfDamageFails) {
  std::string damaged = text_;
  damaged.erase(text_.size() / 2, 1000);
  for (const bool recover : {false, true}) {
    const trace::LoadOptions options = tiny(threads_, recover);
    for (const std::string& bytes : {damaged, gzip(damaged), text_.substr(0, 20'000)}) {
      const auto load = [&] { (void)test::load_outcome(bytes, options); };
      EXPECT_GT(fail_each(load), 50);
    }
  }
}

TEST_P(Allocation, ArgsFail) {
  const auto trace = trace::load_bytes(gzip(text_), tiny(threads_, false));
  std::vector<std::uint32_t> rows(trace.columns.size());
  std::iota(rows.begin(), rows.end(), 0u);
  EXPECT_GT(fail_each([&] { (void)trace.read_args(rows); }), 5);
}

TEST_P(Allocation, WithoutMoreThreadsTheLoadGoesOn) {
  const auto control = trace::load_bytes(text_, tiny(1, false));
  threads_are_refused = true;
  const auto trace = trace::load_bytes(text_, tiny(threads_, false));
  threads_are_refused = false;
  EXPECT_EQ(test::difference(control, trace), "");
}

// Tests that compare threads with one would pass as well if none were ever started:
// here it shows from which size of text on they are, also out of gzip.
TEST_P(Allocation, ThreadsAreStartedWhereThereIsWorkForThem) {
  std::string text = "[";
  for (int i = 0; i < 60'000; ++i) {
    text += std::string(i == 0 ? "" : ",\n") + "{\"ph\": \"X\", \"name\": \"n" +
            std::to_string(i % 977) + "\", \"ts\": " + std::to_string(i) +
            ", \"dur\": 1}";
  }
  text += "]";
  trace::LoadOptions options;
  options.threads = 1;
  const auto control = trace::load_bytes(text, options);
  options.threads = threads_;
  options.block_bytes = 20'000;
  for (const std::string& bytes : {text, gzip(text)}) {
    const auto before = threads_started.load();
    EXPECT_EQ(test::difference(control, trace::load_bytes(bytes, options)), "");
    EXPECT_EQ(threads_started - before, threads_ - 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, Allocation, testing::Values(1u, 2u, 3u));

TEST(AllocationOfAnalysis, Fails) {
  for (const std::string& text : large_seeds()) {
    const auto trace = trace::load_bytes(text);
    EXPECT_GT(fail_each([&] { (void)pipeline::analyze(trace); }), 20);
  }
}

}  // namespace
}  // namespace tta::robust
