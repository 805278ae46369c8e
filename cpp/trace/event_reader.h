// SPDX-License-Identifier: BSD-3-Clause
// trace/event_reader.h: turns one element of traceEvents into one row.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/dialect.h"
#include "trace/grammar.h"
#include "trace/keys.h"
#include "trace/rows.h"
#include "trace/string_pool.h"
#include "trace/tally.h"

namespace tta::trace {

class EventReader {
 public:
  EventReader(Grammar& grammar, StringPool& strings, Tally& tally);

  /// Reads the object at `object`, around which `depth` brackets are open, into
  /// `row`. Returns the place after it, or nullptr and a mistake in the grammar.
  ///
  /// Nothing is counted yet: if the window ends before what follows the event, it is
  /// read again. `window_offset` is where the window starts in the text.
  Place read(Place object, int depth, std::uint64_t window_offset, Row& row);

  /// Finishes the event last read, and counts anomalies. False if it is not an event.
  bool finish(Row& row, Position where);

  /// The members of the args of the event last read that are kept (args_kept.h), as an
  /// object; "" without any.
  std::string_view kept_args() {
    if (!kept_.empty() && kept_.back() != '}') kept_ += '}';
    return kept_;
  }

  /// Whether the object last read, even if it failed, had a text `ph`.
  bool has_phase() const { return has_phase_; }

 private:
  Place read_args(Place object, int depth, Row& row);
  void keep(Place key, Place after);
  Place read_time(Place value, int depth, std::int64_t& nanos);
  Place read_odd_time(Place value, int depth, std::int64_t& nanos);
  Place read_identity(Place value, int depth, std::int64_t& identity);
  Place read_odd_identity(Place value, int depth, std::int64_t& identity);
  Place read_id(Place value, int depth, std::int64_t& id);
  Place read_odd_id(Place value, int depth, std::int64_t& id);
  char read_phase(Place value);
  char odd_phase(std::string_view raw);
  std::string plain_text(Place value) const;
  bool unescape_key(Place key, std::string& token) const;
  ArgKey escaped_arg_key(Place key) const;
  std::int64_t& id_of(ArgKey key, Row& row);
  std::string_view* word_of(ArgKey key);
  std::uint32_t name_id(std::string_view raw);
  std::uint32_t category_id(std::string_view raw);
  void place_on_device(Row& row);
  void note(Anomaly anomaly) { odd_ |= bit(anomaly); }

  struct CategoryName {
    Category category;
    bool counted;  // as unknown
  };

  Grammar& grammar_;
  StringPool& strings_;
  Tally& tally_;
  // Names with escapes are looked up as they stand, so that only new ones are
  // unescaped.
  StringPool raw_names_;
  std::vector<std::uint32_t> names_{0};  // in strings_, by id in raw_names_
  StringPool raw_categories_;
  std::vector<CategoryName> categories_{{Category::kUnknown, true}};  // by id there

  // About the event being read.
  std::uint32_t odd_ = 0;       // bits of Anomaly
  std::uint32_t category_ = 0;  // id in raw_categories_
  bool has_phase_ = false;
  bool has_ts_ = false;
  std::int64_t flow_id_ = kNoId;
  std::int64_t device_ = kNoId;
  std::int64_t original_stream_ = kNoId;
  CopyWords words_;   // views into the window
  std::string kept_;  // members, without the last bracket
};

}  // namespace tta::trace
