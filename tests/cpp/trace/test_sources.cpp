// SPDX-License-Identifier: BSD-3-Clause
// The forms of a trace, gzip in all its forms, and args fetched again.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "trace/samples.h"

namespace tta::trace {
namespace {

TEST(Forms, MetadataMayFollowTheEvents) {
  const Trace trace = load_bytes(R"({"a": {"traceEvents": [1]}, "traceEvents": [
      {"ph": "M"}], "baseTimeNanoseconds": 17, "b": [1, {"c": "}"}]
      , "traceName" : "x]}" })");
  EXPECT_EQ(trace.columns.size(), 1u);
  ASSERT_EQ(trace.metadata.size(), 4u);
  EXPECT_EQ(trace.metadata[0].first, "a");
  EXPECT_EQ(trace.metadata_json("a"), R"({"traceEvents": [1]})");
  EXPECT_EQ(trace.metadata_json("baseTimeNanoseconds"), "17");
  EXPECT_EQ(trace.metadata_json("b"), R"([1, {"c": "}"}])");
  EXPECT_EQ(trace.metadata_json("traceName"), R"("x]}")");
  EXPECT_EQ(trace.metadata_json("none"), "");
  EXPECT_EQ(trace.path, "<bytes>");
}

TEST(Forms, RepeatedMetadataKeepsTheLast) {
  const Trace trace = load_bytes(R"({"a": 1, "traceEvents": [], "a": 2})");
  EXPECT_EQ(trace.metadata_json("a"), "2");
  EXPECT_EQ(trace.metadata.size(), 1u);
  EXPECT_EQ(warned(trace, "duplicate_key"), 1u);
}

TEST(Forms, EscapedKeyOfTheEvents) {
  EXPECT_EQ(load_bytes(R"({"trace\u0045vents": [{"ph": "M"}]})").columns.size(), 1u);
}

TEST(Forms, List) {
  EXPECT_EQ(load_bytes(R"([{"ph": "M"}, {"ph": "M"}])").columns.size(), 2u);
  EXPECT_EQ(load_bytes("[]").columns.size(), 0u);
}

TEST(Forms, UnclosedListIsLegalAndOdd) {
  for (const char* end : {"", ",", "\n", ",\n"}) {
    const std::string text = R"([{"ph": "M"}, {"ph": "M"})";
    const Trace trace = load_bytes(text + end);
    EXPECT_EQ(trace.columns.size(), 2u) << end;
    EXPECT_EQ(warned(trace, "unclosed_list"), 1u) << end;
  }
  EXPECT_EQ(refusal(R"([{"ph": "M"}, {"ph")").kind(), "truncated");
  EXPECT_EQ(refusal("[").kind(), "truncated");
}

TEST(Forms, ByteOrderMarkAndLineEnds) {
  std::string text = kineto_text(5);
  const Trace control = load_bytes(text);
  expect_same(control, load_bytes("\xEF\xBB\xBF" + text), false);
  std::string crlf;
  for (const char c : text) {
    if (c == '\n') crlf += '\r';
    crlf += c;
  }
  const Trace trace = load_bytes(crlf);
  expect_same(control, trace, false);
  EXPECT_EQ(trace.text_bytes, crlf.size());
}

TEST(Forms, NoEvents) {
  const Trace trace = load_bytes(R"({"traceEvents": []})");
  EXPECT_EQ(trace.columns.size(), 0u);
  EXPECT_TRUE(trace.warnings.empty());
  EXPECT_EQ(trace.strings.view(0), "");
}

TEST(Forms, ElementsThatAreNoEventsAreSkippedAndCounted) {
  const Trace trace = load_bytes(around(
      R"(null, 5, "text", [1, [2]], {}, {"ph": 5}, {"name": "a"}, {"ph": "M", "name": "b"})"));
  ASSERT_EQ(trace.columns.size(), 1u);
  EXPECT_EQ(trace.name(0), "b");
  EXPECT_EQ(warned(trace, "skipped_element"), 4u);
  EXPECT_EQ(warned(trace, "no_phase"), 3u);
}

TEST(Forms, OddTypesInEventsAreCounted) {
  const Trace trace = load_bytes(around(R"(
    {"ph": "XY", "name": 5, "cat": 6, "args": [1]}, {"ph": "", "args": null},
    {"ph": "M", "cat": "new_thing"}, {"ph": "M", "cat": "new_thing"},
    {"ph": "M", "cat": "other\n"}, {"ph": "M", "cat": ""})"));
  EXPECT_EQ(trace.columns.phase[0], '?');
  EXPECT_EQ(warned(trace, "odd_phase"), 2u);
  EXPECT_EQ(warned(trace, "bad_name"), 1u);
  EXPECT_EQ(warned(trace, "bad_category"), 1u);
  EXPECT_EQ(warned(trace, "bad_args"), 1u);
  EXPECT_EQ(warned(trace, "unknown_category"), 2u);
  for (const Warning& warning : trace.warnings) {
    EXPECT_TRUE(says(warning.detail, "first at JSON byte"));
    if (warning.kind == "unknown_category") {
      EXPECT_TRUE(says(warning.detail, "new_thing, other\\n"));
    }
  }
}

TEST(Forms, DeepNestingIsBoundedNotRecursive) {
  const auto nested = [](int depth) {
    return around(R"({"ph": "M", "args": {"a": )" + std::string(depth, '[') +
                  std::string(depth, ']') + "}}");
  };
  EXPECT_EQ(load_bytes(nested(900)).columns.size(), 1u);
  EXPECT_EQ(load_bytes(nested(1020)).columns.size(), 1u);
  EXPECT_EQ(refusal(nested(1021)).kind(), "too_deep");
  EXPECT_EQ(refusal(nested(1'000'000)).kind(), "too_deep");
  std::string objects;
  for (int i = 0; i < 900; ++i) objects += R"({"a": )";
  objects += "1" + std::string(900, '}');
  EXPECT_EQ(
      load_bytes(around(R"({"ph": "M", "args": )" + objects + "}")).columns.size(), 1u);
}

TEST(Forms, LargeSingleItems) {
  const std::string name(3'000'000, 'n');
  const std::string backslashes(2'000'000, '\\');
  std::string args;
  for (int i = 0; i < 100'000; ++i) args += "\"k" + std::to_string(i) + "\": 1, ";
  const Trace trace = load_bytes(around(
      "{\"ph\": \"M\", \"name\": \"" + name + "\"}, {\"ph\": \"M\", \"args\": {" +
      args + "\"correlation\": 5}}, {\"ph\": \"M\", \"name\": \"" + backslashes +
      "\"}"));
  ASSERT_EQ(trace.columns.size(), 3u);
  EXPECT_EQ(trace.name(0), name);
  EXPECT_EQ(trace.columns.correlation[1], 5);
  EXPECT_EQ(trace.name(2).size(), 1'000'000u);
}

TEST(Forms, AnIdentityThatTheTraceDoesNotHaveIsRefused) {
  const Trace trace =
      load_bytes(around(R"({"ph": "M", "name": "b", "pid": "Spans", "tid": -7})"));
  EXPECT_EQ(trace.identity(trace.columns.pid[0]), "Spans");
  EXPECT_EQ(trace.identity(trace.columns.tid[0]), "-7");
  EXPECT_EQ(trace.identity(kTextIdentity), "");  // id 0 is the empty text
  const auto size = static_cast<std::int64_t>(trace.strings.size());
  EXPECT_NO_THROW(trace.identity(kTextIdentity + size - 1));
  for (const std::int64_t id :
       {kTextIdentity + size, kTextIdentity + (std::int64_t{1} << 33),
        std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_THROW(trace.identity(id), std::out_of_range) << id;
  }
}

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
  EXPECT_TRUE(says(error.what(), "after 20 whole events"));
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
      EXPECT_TRUE(says(args[i], "\"External id\": " + std::to_string(rows[i]) + ","));
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
