// SPDX-License-Identifier: BSD-3-Clause
// benchmarks/replay/json_object.h: prints JSON as it comes.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

/// Prints the members of an object or list, with the comma before each but the first.
class Object {
 public:
  void text(const char* key, const std::string& value) {
    begin(key);
    std::printf("\"%s\"", value.c_str());
  }
  void number(const char* key, double value) {
    begin(key);
    std::printf("%.9g", value);
  }
  void count(const char* key, std::uint64_t value) {
    number(key, static_cast<double>(value));
  }
  void ms(const char* key, std::int64_t ns) {
    number(key, static_cast<double>(ns) / 1e6);
  }
  void truth(const char* key, bool value) {
    begin(key);
    std::printf(value ? "true" : "false");
  }
  void open(const char* key, char bracket) {
    begin(key);
    std::putchar(bracket);
    comma_ = false;
  }
  void close(char bracket) {
    std::putchar(bracket);
    comma_ = true;
  }

 private:
  void begin(const char* key) {
    std::printf(comma_ ? ",\n  " : "\n  ");
    if (*key != '\0') std::printf("\"%s\": ", key);
    comma_ = true;
  }
  bool comma_ = false;
};
