// SPDX-License-Identifier: BSD-3-Clause
// pipeline/accounting/finding_id.cpp: SHA-256 (FIPS 180-4) of what and where a finding
// is.
#include "pipeline/accounting/finding_id.h"

#include <array>
#include <bit>
#include <cstdint>

namespace tta::pipeline {
namespace {

constexpr char kHex[] = "0123456789abcdef";

// The fractions of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> kRounds = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
    0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
    0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
    0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
    0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
    0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
    0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
    0xc67178f2};

using State = std::array<std::uint32_t, 8>;

void digest_block(State& state, std::string_view block) {
  std::array<std::uint32_t, 64> w{};
  for (std::size_t i = 0; i < 64; ++i) {
    w[i / 4] = w[i / 4] << 8 | static_cast<unsigned char>(block[i]);
  }
  for (std::size_t i = 16; i < 64; ++i) {
    const auto a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + w[i - 7] +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  auto s = state;
  for (std::size_t i = 0; i < 64; ++i) {
    const auto e = s[4], a = s[0];
    const auto one = s[7] + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                     ((e & s[5]) ^ (~e & s[6])) + kRounds[i] + w[i];
    const auto two = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) +
                     ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
    s = {one + two, a, s[1], s[2], s[3] + one, e, s[5], s[6]};
  }
  for (std::size_t i = 0; i < 8; ++i) state[i] += s[i];
}

// As Python writes a str, which ids were made of from the first version on.
std::string repr(std::string_view text) {
  const char quote =
      text.find('\'') != text.npos && text.find('"') == text.npos ? '"' : '\'';
  std::string out(1, quote);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    auto byte = static_cast<unsigned char>(c);
    // What Latin-1 has beyond ASCII that is not printed begins with this byte.
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    const bool latin = byte == 0xc2 && (next <= 0xa0 || next == 0xad);
    if (c == quote || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n' || c == '\r' || c == '\t') {
      out += {'\\', c == '\n' ? 'n' : c == '\r' ? 'r' : 't'};
    } else if (byte < 0x20 || byte == 0x7f || latin) {
      if (latin) byte = next, ++i;
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      out += c;
    }
  }
  return out + quote;
}

// Which operator costs most in a line may change from trace to trace.
std::string key_of(const patterns::Finding& f, std::string_view subtype) {
  if (!f.location) {
    return "(" + repr(subtype) + ", None, " + repr(f.operator_name) + ")";
  }
  const auto& where = *f.location;
  return "(" + repr(subtype) + ", (" + repr(where.file) + ", " +
         std::to_string(where.line) + ", " + repr(where.function) + "), '')";
}

std::string name_and_digits(std::string_view name, std::string_view key) {
  return std::string(name) + "-" + sha256(key).substr(0, 8);
}

// Adds a number to an id that is taken.
std::string unlike(const std::string& id, std::set<std::string>& taken) {
  auto out = id;
  for (int n = 2; !taken.insert(out).second; ++n) {
    out = id + "-" + std::to_string(n);
  }
  return out;
}

}  // namespace

std::string id_of_place(std::string_view name,
                        const std::optional<timeline::Frame>& frame,
                        std::string_view operator_name, std::set<std::string>& taken) {
  auto place = repr(operator_name);
  if (frame) {
    const bool of_call = frame->line_of == timeline::LineOf::kCall;
    place = "(" + repr(frame->file) + ", " +
            (of_call ? std::to_string(frame->line) : "None") + ", " +
            repr(frame->function) + ")";
  }
  return unlike(name_and_digits(name, "(" + place + ",)"), taken);
}

std::string sha256(std::string_view bytes) {
  State state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::string padded(bytes);
  padded += '\x80';
  padded.append((120 - padded.size() % 64) % 64, '\0');
  for (int shift = 56; shift >= 0; shift -= 8) {
    padded += static_cast<char>(std::uint64_t{bytes.size()} * 8 >> shift);
  }
  for (std::size_t at = 0; at < padded.size(); at += 64) {
    digest_block(state, std::string_view(padded).substr(at, 64));
  }
  std::string out;
  for (const auto word : state) {
    for (int shift = 28; shift >= 0; shift -= 4) out += kHex[word >> shift & 15];
  }
  return out;
}

void name_findings(std::span<patterns::Finding> findings,
                   const patterns::PatternTable& patterns) {
  std::set<std::string> taken;
  for (auto& f : findings) {
    const auto& pattern = patterns[f.pattern];
    const auto subtype = pattern.subtypes.empty() ? "" : pattern.subtypes[f.subtype];
    f.id = unlike(name_and_digits(pattern.name, key_of(f, subtype)), taken);
  }
}

}  // namespace tta::pipeline
