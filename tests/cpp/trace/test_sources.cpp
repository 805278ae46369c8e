// SPDX-License-Identifier: BSD-3-Clause
// tests/cpp/trace/test_sources.cpp: gzip in all its forms, and args fetched again.
#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>

#include "trace/samples.h"

namespace tta::trace {
namespace {

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& bytes)
      : path_(testing::TempDir() + "tta_" +
              testing::UnitTest::GetInstance()->current_test_info()->name()) {
    write(bytes);
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  void write(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(Gzip, LoadsTheSame) {
  const std::string text = kineto_text(2000);
  const Trace control = load_bytes(text);
  expect_same(control, load_bytes(gzip(text)));
  // Several members, one of them empty, cut anywhere; zeros after the last.
  const std::size_t half = text.size() / 2;
  expect_same(control, load_bytes(gzip(text.substr(0, half)) + gzip("") +
                                  gzip(text.substr(half)) + std::string(512, '\0')));
  std::string many;
  for (std::size_t at = 0; at < text.size(); at += 100)
    many += gzip(text.substr(at, 100));
  expect_same(control, load_bytes(many));
}

TEST(Gzip, HeaderFieldsAreSkipped) {
  const std::string text = kineto_text(3);
  const std::string plain = gzip(text);
  std::string with =
      plain.substr(0, 10) + std::string("\x04\x00\x01\x02\x03\x04name\0comment\0", 19);
  with[3] = 4 | 8 | 16;  // FEXTRA, FNAME, FCOMMENT
  expect_same(load_bytes(text), load_bytes(with + plain.substr(10)));
}

TEST(Gzip, DamageIsAlwaysNoticed) {
  const std::string text = kineto_text(50);
  const Trace control = load_bytes(text);
  const std::string good = gzip(text);
  std::string bad = good;
  bad[bad.size() - 6] ^= 1;  // the checksum
  EXPECT_EQ(refusal(bad).kind(), "gzip_checksum");
  bad = good;
  bad[bad.size() - 2] ^= 1;  // the length
  EXPECT_EQ(refusal(bad).kind(), "gzip_checksum");
  EXPECT_EQ(refusal(good + "rest").kind(), "gzip_trailing");
  EXPECT_EQ(refusal(good + std::string(100, '\0') + "x").kind(), "gzip_trailing");
  bad = good;
  bad[2] = 7;  // no such method
  EXPECT_EQ(refusal(bad).kind(), "gzip_header");
  for (std::size_t byte = 10; byte < good.size(); ++byte) {
    bad = good;
    bad[byte] ^= 0x10;
    try {
      expect_same(control, load_bytes(bad));  // bits after the last block mean nothing
    } catch (const TraceError& error) {
      EXPECT_TRUE(error.kind().starts_with("gzip")) << byte << error.what();
    }
  }
}

TEST(Gzip, CutAtEveryByte) {
  const std::string good = gzip(kineto_text(20));
  for (std::size_t cut = 2; cut < good.size(); ++cut) {
    const TraceError error = refusal(good.substr(0, cut));
    EXPECT_EQ(error.kind(), "gzip_truncated") << cut;
    EXPECT_EQ(error.offset(), static_cast<std::int64_t>(cut));
    EXPECT_GE(error.event(), 0);
  }
  // Only the checksum is missing: every event was whole.
  const TraceError error = refusal(good.substr(0, good.size() - 3));
  EXPECT_EQ(error.event(), 20);
  EXPECT_NE(std::string(error.what()).find("after 20 whole events"), std::string::npos);
}

TEST(Gzip, ACutTellsExactlyHowManyEventsComeBefore) {
  const std::string text = kineto_text(2000);
  const std::size_t half = text.size() / 2;
  for (const std::string& good :
       {gzip(text), gzip(text.substr(0, half)) + gzip(text.substr(half))}) {
    for (std::size_t cut = 300; cut < good.size(); cut += good.size() / 61) {
      const std::string part = good.substr(0, cut);
      LoadOptions options;
      options.recover = true;
      const std::string inflated = text.substr(0, load_bytes(part, options).text_bytes);
      const auto whole =
          static_cast<std::int64_t>(load_bytes(inflated, options).columns.size());
      options.recover = false;
      for (const unsigned threads : {1u, 3u}) {
        options.threads = threads;
        options.block_bytes = 20'000;
        options.window_bytes = 5'000;
        EXPECT_EQ(refusal(part, options).event(), whole) << cut;
      }
    }
  }
}

TEST(Gzip, BombsAreRefused) {
  LoadOptions options;
  options.max_text_bytes = 1000;
  EXPECT_EQ(refusal(gzip(kineto_text(50)), options).kind(), "gzip_limit");
  const std::string blanks = gzip(std::string(std::size_t{80} << 20, ' '));
  EXPECT_EQ(refusal(blanks).kind(), "gzip_bomb");
}

TEST(ReadArgs, GivesTheTextInTheOrderAsked) {
  const std::string text = kineto_text(3000);
  const TemporaryFile plain(text);
  for (const Trace& trace :
       {load_bytes(text), load_bytes(gzip(text)), load_file(plain.path())}) {
    std::vector<std::uint32_t> rows = {2999, 0, 17, 17, 5};
    const std::vector<std::string> args = trace.read_args(rows);
    ASSERT_EQ(args.size(), rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::uint64_t offset = trace.columns.args_offset[rows[i]];
      EXPECT_EQ(args[i], text.substr(offset, trace.columns.args_length[rows[i]]));
      EXPECT_NE(args[i].find("\"External id\": " + std::to_string(rows[i]) + ","),
                std::string::npos);
      EXPECT_EQ(args[i].front(), '{');
      EXPECT_EQ(args[i].back(), '}');
    }
    std::vector<std::uint32_t> all(trace.columns.size());
    std::iota(all.begin(), all.end(), 0u);
    EXPECT_EQ(trace.read_args(all)[17], args[2]);
    EXPECT_THROW(trace.read_args(std::vector<std::uint32_t>{3000}),
                 std::invalid_argument);
  }
}

TEST(ReadArgs, IsEmptyWithoutArgs) {
  const Trace trace = load_bytes(around(R"({"ph": "M"}, {"ph": "M", "args": {}},
      {"ph": "M", "args": 5})"));
  const auto args = trace.read_args(std::vector<std::uint32_t>{0, 1, 2});
  EXPECT_EQ(args, (std::vector<std::string>{"", "{}", ""}));
  EXPECT_TRUE(trace.read_args({}).empty());
}

TEST(ReadArgs, NoticesAChangedFile) {
  const std::string text = kineto_text(20);
  TemporaryFile file(text);
  const Trace trace = load_file(file.path());
  EXPECT_EQ(trace.path, file.path());
  const std::vector<std::uint32_t> rows = {3};
  EXPECT_FALSE(trace.read_args(rows)[0].empty());
  file.write(text.substr(0, text.size() / 2));
  try {
    trace.read_args(rows);
    FAIL();
  } catch (const TraceError& error) {
    EXPECT_EQ(error.kind(), "changed");
  }
  std::filesystem::remove(file.path());
  EXPECT_THROW(trace.read_args(rows), FileNotFound);
}

TEST(ReadArgs, WorksFromSeveralThreads) {
  const Trace trace = load_bytes(gzip(kineto_text(3000)));
  const std::vector<std::uint32_t> rows = {1, 2998};
  const auto expected = trace.read_args(rows);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { EXPECT_EQ(trace.read_args(rows), expected); });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tta::trace
