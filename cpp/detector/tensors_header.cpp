// SPDX-License-Identifier: BSD-3-Clause
// detector/tensors_header.cpp: a strict parser for the little JSON that it may be.
#include "detector/tensors_header.h"

#include <cctype>
#include <set>

namespace tta::detector {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Header header() {
    Header out;
    std::set<std::string> names;
    bool has_metadata = false;
    members([&](std::string name) {
      if (name == "__metadata__") {
        if (has_metadata) fail("__metadata__ comes twice");
        has_metadata = true;
        read_metadata(out);
        return;
      }
      if (!names.insert(name).second)
        fail("the tensor " + shown(name) + " comes twice");
      out.entries.push_back(entry(std::move(name)));
    });
    skip_space();
    if (at_ != text_.size()) fail("something follows the end of the header's object");
    return out;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw WeightsError("byte " + std::to_string(at_) + " of the header: " + what);
  }

  void skip_space() {
    while (at_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) {
      ++at_;
    }
  }

  // The next character that is not a space; 0 at the end.
  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool take(char ch) {
    if (peek() != ch) return false;
    ++at_;
    return true;
  }

  void expect(char ch) {
    if (!take(ch)) fail(std::string("expected ") + ch);
  }

  // Calls `read` with the name of each member of an object, at its value.
  template <typename Read>
  void members(Read read) {
    expect('{');
    if (take('}')) return;
    do {
      auto name = string();
      expect(':');
      read(std::move(name));
    } while (take(','));
    expect('}');
  }

  void read_metadata(Header& out) {
    members([&](std::string key) {
      auto value = string();
      if (!out.metadata.try_emplace(key, std::move(value)).second) {
        fail("the metadata " + shown(key) + " come twice");
      }
    });
  }

  HeaderEntry entry(std::string name) {
    HeaderEntry out;
    out.name = std::move(name);
    std::set<std::string> seen;
    members([&](std::string field) {
      if (!seen.insert(field).second)
        fail("the field " + shown(field) + " comes twice");
      if (field == "dtype") {
        out.dtype = string();
      } else if (field == "shape") {
        out.shape = numbers(kMostDimensions);
      } else if (field == "data_offsets") {
        const auto offsets = numbers(2);
        if (offsets.size() != 2) fail("data_offsets must be two numbers");
        out.begin = static_cast<std::uint64_t>(offsets[0]);
        out.end = static_cast<std::uint64_t>(offsets[1]);
      } else {
        fail("unknown field " + shown(field));
      }
    });
    if (seen.size() != 3) {
      fail("the tensor " + shown(out.name) +
           " must have dtype, shape and data_offsets");
    }
    return out;
  }

  std::vector<std::int64_t> numbers(std::size_t most) {
    std::vector<std::int64_t> out;
    expect('[');
    if (take(']')) return out;
    do {
      if (out.size() == most) fail("more than " + std::to_string(most) + " numbers");
      out.push_back(number());
    } while (take(','));
    expect(']');
    return out;
  }

  std::int64_t number() {
    if (std::isdigit(static_cast<unsigned char>(peek())) == 0) {
      fail("expected a number that is not negative");
    }
    const auto first = at_;
    std::int64_t out = 0;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) {
      if (at_ - first == 18) fail("a number of more than 18 digits");
      out = out * 10 + (text_[at_++] - '0');
    }
    if (at_ - first > 1 && text_[first] == '0') fail("a number that begins with 0");
    return out;
  }

  std::string string() {
    expect('"');
    std::string out;
    for (;; ++at_) {
      if (at_ == text_.size()) fail("a string without an end");
      const auto ch = text_[at_];
      if (ch == '"') break;
      if (static_cast<unsigned char>(ch) < 32) fail("a control character in a string");
      out += ch == '\\' ? escape() : ch;
    }
    ++at_;
    return out;
  }

  // At the backslash; leaves at the last character of the escape.
  char escape() {
    constexpr std::string_view kShort = "\"\\/bfnrt", kMeans = "\"\\/\b\f\n\r\t";
    if (++at_ == text_.size()) fail("a string without an end");
    const auto known = kShort.find(text_[at_]);
    if (known != std::string_view::npos) return kMeans[known];
    int code = 0;
    if (text_[at_] != 'u') fail("an unknown escape");
    for (int i = 0; i < 4; ++i) {
      if (++at_ == text_.size()) fail("a string without an end");
      const auto digit = std::string_view("0123456789abcdef")
                             .find(static_cast<char>(
                                 std::tolower(static_cast<unsigned char>(text_[at_]))));
      if (digit == std::string_view::npos) fail("an unknown escape");
      code = code * 16 + static_cast<int>(digit);
    }
    if (code > 127) fail("an escape beyond ASCII");
    return static_cast<char>(code);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

std::string string_of(std::string_view text) {
  std::string out = "\"";
  for (const auto ch : text) {
    if (ch == '"' || ch == '\\') out += '\\';
    if (static_cast<unsigned char>(ch) >= 32) {
      out += ch;
      continue;
    }
    out += "\\u00";
    out += static_cast<char>('0' + (ch >> 4));
    out += "0123456789abcdef"[ch & 15];
  }
  return out + '"';
}

}  // namespace

std::string shown(std::string_view text) {
  std::string out = "\"";
  for (const auto ch : text.substr(0, 60)) out += ch >= 32 && ch < 127 ? ch : '?';
  return out + (text.size() > 60 ? "...\"" : "\"");
}

Header parse_header(std::string_view text) { return Parser(text).header(); }

std::string write_header(const Header& header) {
  std::string out = "{\"__metadata__\":{";
  const char* comma = "";
  for (const auto& [key, value] : header.metadata) {
    out += comma + string_of(key) + ":" + string_of(value);
    comma = ",";
  }
  out += "}";
  for (const auto& entry : header.entries) {
    out += "," + string_of(entry.name) + ":{\"dtype\":" + string_of(entry.dtype) +
           ",\"shape\":[";
    comma = "";
    for (const auto size : entry.shape) {
      out += comma + std::to_string(size);
      comma = ",";
    }
    out += "],\"data_offsets\":[" + std::to_string(entry.begin) + "," +
           std::to_string(entry.end) + "]}";
  }
  out += "}";
  out.append((8 - out.size() % 8) % 8, ' ');
  return out;
}

}  // namespace tta::detector
