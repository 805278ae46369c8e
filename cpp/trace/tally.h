// SPDX-License-Identifier: BSD-3-Clause
// trace/tally.h: counts what was odd but harmless, with the first place of each kind.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "trace/trace.h"

namespace tta::trace {

// id, Warning::kind, what was done
#define TTA_ANOMALIES(X)                                                               \
  X(kSkippedElement, "skipped_element",                                                \
    "elements of traceEvents that are not objects were skipped")                       \
  X(kNoPhase, "no_phase", "events without a text 'ph' were skipped")                   \
  X(kOddPhase, "odd_phase",                                                            \
    "events whose 'ph' is not one ASCII letter have phase '?'")                        \
  X(kBadName, "bad_name", "events whose 'name' is not text were kept without a name")  \
  X(kBadCategory, "bad_category", "events whose 'cat' is not text have no category")   \
  X(kBadIdentity, "bad_identity",                                                      \
    "a 'pid' or 'tid' that is a list or object was ignored")                           \
  X(kBadTs, "bad_ts", "events whose 'ts' is not a number in range are untimed")        \
  X(kFarTime, "far_time",                                                              \
    "complete events (ph X) with a 'ts' or 'dur' of 73 years or more are untimed")     \
  X(kMissingTs, "missing_ts", "complete events (ph X) without 'ts' are untimed")       \
  X(kMissingDur, "missing_dur",                                                        \
    "complete events (ph X) without a usable 'dur' are untimed")                       \
  X(kNegativeDur, "negative_dur", "negative durations were kept, but count in no sum") \
  X(kTextNumber, "text_number", "numbers written as text were read as numbers")        \
  X(kBadId, "bad_id", "ids that are not integers were ignored")                        \
  X(kIdOutOfRange, "id_out_of_range", "ids beyond 64 signed bits were ignored")        \
  X(kBadValue, "bad_value",                                                            \
    "values that are not JSON (NaN, inf, 007) were read as missing")                   \
  X(kBadArgs, "bad_args", "'args' that are not objects were ignored")                  \
  X(kDuplicateKey, "duplicate_key", "the last value of repeated keys was used")        \
  X(kUnknownCategory, "unknown_category", "categories this version does not know")     \
  X(kLoneSurrogate, "lone_surrogate",                                                  \
    "escapes of half a character (\\ud800) were replaced in names")                    \
  X(kUnclosedList, "unclosed_list",                                                    \
    "the list has no closing bracket, which the format allows; it may have been cut")  \
  X(kTruncated, "truncated",                                                           \
    "recovered: the text ends too early; the unfinished part is lost")                 \
  X(kDamagedEvent, "damaged_event",                                                    \
    "recovered: damaged places among the events were skipped")                         \
  X(kDamagedMetadata, "damaged_metadata",                                              \
    "recovered: damaged top-level members were skipped")                               \
  X(kBadUtf8, "bad_utf8", "recovered: bytes that are not UTF-8 were replaced")         \
  X(kTwoEventLists, "two_event_lists",                                                 \
    "recovered: further lists called traceEvents were read after the first")           \
  X(kTrailingContent, "trailing_content",                                              \
    "recovered: data after the end of the trace was not read")                         \
  X(kGzipTruncated, "gzip_truncated",                                                  \
    "recovered: the gzip data ends in the middle; the data before was read")           \
  X(kGzipDamaged, "gzip_damaged",                                                      \
    "recovered: the gzip data is damaged; the data before was read")                   \
  X(kGzipChecksum, "gzip_checksum",                                                    \
    "recovered: the gzip checksum does not match; names and numbers may be wrong")     \
  X(kGzipTrailing, "gzip_trailing",                                                    \
    "recovered: data after the gzip data was not read")                                \
  X(kPftraceTruncated, "pftrace_truncated",                                            \
    "recovered: the file ends inside a packet; the packets before were read")          \
  X(kPftraceDamaged, "pftrace_damaged",                                                \
    "recovered: packets that cannot be read were skipped")

enum class Anomaly : std::uint8_t {
#define TTA_ID(id, kind, text) id,
  TTA_ANOMALIES(TTA_ID)
#undef TTA_ID
      kCount,
};

/// Returns its Warning::kind.
std::string_view kind_of(Anomaly anomaly);

/// The bit of an anomaly, to collect those of one event.
constexpr std::uint32_t bit(Anomaly anomaly) {
  return std::uint32_t{1} << static_cast<int>(anomaly);
}
static_assert(static_cast<int>(Anomaly::kCount) <= 32);

/// A byte offset in the JSON text and, if it is inside, an index in traceEvents.
struct Position {
  std::uint64_t offset = 0;
  std::int64_t event = -1;
};

class Tally {
 public:
  /// `bytes` of the text were skipped with it.
  void count(Anomaly anomaly, Position where, std::uint64_t times = 1,
             std::uint64_t bytes = 0);

  /// Counts each anomaly whose bit is set, once.
  void count_bits(std::uint32_t bits, Position where) {
    for (; bits != 0; bits &= bits - 1) {
      count(static_cast<Anomaly>(std::countr_zero(bits)), where);
    }
  }

  /// Counts an unknown category; each name counts once.
  void count_category(std::string_view name, Position where);

  /// Adds what was counted in the text that follows, whose first event has the number
  /// `first_event`.
  void add(const Tally& later, std::int64_t first_event);

  /// Returns one warning for each kind seen, in the order of the table.
  std::vector<Warning> warnings() const;

 private:
  struct Entry {
    std::uint64_t times = 0;
    std::uint64_t bytes = 0;
    Position first;
  };
  std::string names() const;

  std::array<Entry, static_cast<std::size_t>(Anomaly::kCount)> entries_;
  struct Unknown {
    std::string name;
    Position first;
  };
  std::vector<Unknown> categories_;  // each once
  std::unordered_set<std::string> known_;
};

}  // namespace tta::trace
