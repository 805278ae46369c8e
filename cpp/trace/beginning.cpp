// SPDX-License-Identifier: BSD-3-Clause
// trace/beginning.cpp: kinds of file that are mistaken for traces.
#include "trace/beginning.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace tta::trace {
namespace {

using namespace std::literals;

struct Beginning {
  std::string_view bytes;
  const char* kind;
  const char* cause;
  const char* hint;
};

constexpr const char* kUnpack = "Unpack it first; only gzip is read directly.";
constexpr const char* kUtf8 = "Save it as UTF-8 (PowerShell's > writes UTF-16).";
constexpr const char* kExport = "Give the .json file that torch.profiler exports.";
constexpr const char* kRecord =
    "Record the program with torch.profiler, or torchtraceap.profile(), and give the "
    ".json file that it exports.";

constexpr std::array kBeginnings = {
    Beginning{"SQLite format 3\0"sv, "sqlite",
              "this is an SQLite database (an export of Nsight Systems?), not a trace",
              kRecord},
    Beginning{"PK\x03\x04"sv, "zip", "this is a zip archive, not a trace", kUnpack},
    Beginning{"\x28\xB5\x2F\xFD"sv, "zstd", "this is zstd-compressed", kUnpack},
    Beginning{"\xFD"
              "7zXZ"sv,
              "xz", "this is xz-compressed", kUnpack},
    Beginning{"BZh"sv, "bzip2", "this is bzip2-compressed", kUnpack},
    Beginning{"\x1f\x8b"sv, "nested_gzip", "this is gzip inside gzip",
              "Unpack it once and try again."},
    Beginning{"\xFF\xFE"sv, "utf16", "this text is UTF-16, JSON is UTF-8", kUtf8},
    Beginning{"\xFE\xFF"sv, "utf16", "this text is UTF-16, JSON is UTF-8", kUtf8},
    Beginning{"version https://git-lfs"sv, "git_lfs",
              "this is a git-lfs pointer, not the file itself",
              "Run `git lfs pull` and try again."},
    Beginning{"\x80\x02"sv, "pickle", "this is a Python pickle, not a trace", kExport},
    Beginning{"\x80\x04"sv, "pickle", "this is a Python pickle, not a trace", kExport},
    Beginning{"\x80\x05"sv, "pickle", "this is a Python pickle, not a trace", kExport},
};

// Without a byte order mark: every other byte of ASCII is zero then.
bool looks_like_utf16(std::string_view text) {
  const auto nul = [&](std::size_t i) { return text[i] == '\0'; };
  return text.size() >= 4 && nul(0) != nul(1) && nul(0) == nul(2) && nul(1) == nul(3);
}

// torch.save writes a zip whose first member is <name>/data.pkl, behind a header of 30
// bytes and a name that is the file's own.
bool is_torch_save(std::string_view text) {
  constexpr std::size_t kFirstName = 30 + 255;
  return text.starts_with("PK\x03\x04") &&
         text.substr(0, kFirstName + 16).find("/data.pkl") != text.npos;
}

// Reports of Nsight Systems and Compute have formats of their own, but sure names.
bool is_nsight(std::string_view text, const std::string& path) {
  if (text.empty() || text.front() == '{' || text.front() == '[') return false;
  return std::ranges::any_of(
      std::array{".nsys-rep", ".ncu-rep", ".qdrep", ".qdstrm"},
      [&](const char* ending) { return path.ends_with(ending); });
}

bool is_blank_or_nul(char c) { return is_blank(c) || c == '\0'; }

}  // namespace

void check_beginning(TextWindowReader& windows, const std::string& path) {
  const auto fail = [&](const char* kind, const std::string& cause, const char* hint) {
    throw TraceError(kind, path, cause, hint);
  };
  std::string_view text = windows.peek();
  if (text.starts_with("\xEF\xBB\xBF")) {
    windows.drop(3);
    text = windows.peek();
  }
  if (is_nsight(text, path)) {
    fail("nsight", "this is a report of Nsight, not a trace of torch.profiler",
         kRecord);
  }
  if (is_torch_save(text)) {
    fail("torch_save", "this is a file of torch.save (weights?), not a trace", kRecord);
  }
  for (const Beginning& known : kBeginnings) {
    if (text.starts_with(known.bytes)) fail(known.kind, known.cause, known.hint);
  }
  if (looks_like_utf16(text))
    fail("utf16", "this text is UTF-16, JSON is UTF-8", kUtf8);
  // A file that was pre-allocated and never written is all NUL.
  bool has_nul = false;
  const char* first = nullptr;
  for (;;) {
    first = std::find_if_not(text.begin(), text.end(), is_blank_or_nul);
    has_nul = has_nul || std::find(text.begin(), first, '\0') != first;
    if (first != text.end()) break;
    if (text.empty()) fail("empty", "the file is empty", "Was the profiler stopped?");
    windows.drop(text.size());
    text = windows.peek();
  }
  if (has_nul) {
    fail("not_json", "there are NUL bytes before the text",
         "The file has a hole where nothing was written: copy or record it again.");
  }
  const char c = *first;
  if (c == '{' || c == '[') return;
  if (c == '<') {
    fail("html", "this looks like HTML or XML (a sign-in page?), not a trace",
         "Download the file itself.");
  }
  fail("not_json", "this does not begin like JSON", kExport);
}

}  // namespace tta::trace
