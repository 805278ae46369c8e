// SPDX-License-Identifier: BSD-3-Clause
// trace/recovery.h: finds where a damaged text can be read again, and goes on there.
//
// Only the first byte of a damaged event is trusted. From there on the raw text is
// searched for a place where an event may begin, or the list of events may end.
// Brackets and quotes cannot be trusted, so every such place is tried: tokens are found
// again from it, and the document accepts only a whole event followed by a comma, a
// bracket or the end of the text. All of this depends on the text alone, never on how
// it is cut into windows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/document.h"
#include "trace/text_windows.h"
#include "trace/trace.h"

namespace tta::trace {

// JSON that any reader takes, out of what the loader tolerated.

/// Returns a JSON value that was read with bad values (grammar.h) or, recovering, with
/// bytes that are not UTF-8: the former become null, the latter U+FFFD. The rest stays
/// byte for byte. Linear.
std::string mended(std::string_view json);

/// Tells by what was counted whether a trace has such values.
bool needs_mending(const std::vector<Warning>& warnings);

class Recovery {
 public:
  /// Goes on after damage: leaves the windows and the document where the walk is to be
  /// taken up. Returns false if the text is over. To be called where the damage was
  /// caught: what cannot be recovered from is rethrown.
  ///
  /// Throws TraceError where there is nothing to recover, or if it is too much work:
  /// all failed trials together may read 16 times the text, and 16 MiB, counting each
  /// as 512 bytes at least.
  bool go_on(const Damaged& damage, TextWindowReader& windows, Document& document);

 private:
  bool charge(const Damaged& damage);
  // Behind a list that was guessed, the members of the true outermost object go on.
  bool in_tail() const {
    return region_ == Document::Region::kTail ||
           (region_ == Document::Region::kDone && guessed_list_);
  }
  bool find_place(const Damaged& damage, bool first, bool affordable,
                  TextWindowReader& windows, Document& document);
  bool find_list(const Damaged& damage, TextWindowReader& windows, Document& document);

  std::optional<TraceError> first_;  // about the damage that is being skipped
  std::uint64_t spent_ = 0;          // on trials that failed
  std::uint64_t farthest_ = 0;       // offset at which damage was seen
  // Of the damage that is being skipped: the part it is in, where it begins, and the
  // events in it, so far.
  Document::Region region_ = Document::Region::kBegin;
  std::uint64_t lost_at_ = 0;
  std::int64_t lost_ = 0;
  // It goes to the end of the text. The lists in an event that was cut can then look
  // like the list of events.
  bool in_cut_ = false;
  // The list of events was found by its name, maybe at a depth where it is not.
  bool guessed_list_ = false;
  int keys_ = 0;  // that were tried as those of members, in all
};

}  // namespace tta::trace
