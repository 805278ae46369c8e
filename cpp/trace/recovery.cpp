// SPDX-License-Identifier: BSD-3-Clause
// trace/recovery.cpp: the search for places to go on.
#include "trace/recovery.h"

#include <algorithm>
#include <string_view>

#include "trace/escapes.h"
#include "trace/number.h"
#include "trace/tally.h"
#include "trace/tokens.h"

namespace tta::trace {

namespace {

// The end of the string that starts at `at`, after its closing quote.
std::size_t string_end(std::string_view json, std::size_t at) {
  for (++at; at < json.size() && json[at] != '"'; ++at) {
    if (json[at] == '\\') ++at;
  }
  return at < json.size() ? at + 1 : json.size();
}

bool is_json(std::string_view scalar) {
  return scalar == "true" || scalar == "false" || scalar == "null" ||
         detail::is_number_slow(scalar.data(), scalar.data() + scalar.size());
}

}  // namespace

std::string mended(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (std::size_t at = 0; at < json.size();) {
    std::size_t end = at + 1;
    if (json[at] == '"') {
      end = string_end(json, at);
      out += replace_bad_utf8(json.substr(at, end - at));
    } else if (detail::ends_scalar(json[at])) {
      out += json[at];
    } else {
      while (end < json.size() && !detail::ends_scalar(json[end])) ++end;
      const std::string_view scalar = json.substr(at, end - at);
      out += is_json(scalar) ? scalar : "null";
    }
    at = end;
  }
  return out;
}

bool needs_mending(const std::vector<Warning>& warnings) {
  return std::any_of(warnings.begin(), warnings.end(), [](const Warning& warning) {
    return warning.kind == kind_of(Anomaly::kBadValue) ||
           warning.kind == kind_of(Anomaly::kBadUtf8);
  });
}

namespace {

constexpr std::uint64_t kMultiple = 16;
constexpr std::uint64_t kFree = std::uint64_t{16} << 20;
constexpr std::uint64_t kLeastTrial = 512;
// White space inside what is searched for: no layout has more in one place.
constexpr std::size_t kMaxBlanks = 256;
// Trials of members. In damaged members there are far fewer keys, in events more.
constexpr int kMaxKeys = 1024;
constexpr std::string_view kList = "\"traceEvents\"";

// Walks over the tokens that make a place one to go on at.
class Look {
 public:
  Look(std::string_view text, std::size_t at) : text_(text), at_(at) {}

  // Skips white space; the byte after it, '\0' at the end of the text and after more
  // white space than there may be.
  char next() {
    const std::size_t most = std::min(text_.size(), at_ + kMaxBlanks);
    while (at_ < most && is_blank(text_[at_])) ++at_;
    return at_ < most ? text_[at_++] : '\0';
  }
  bool at_end() const { return at_ >= text_.size(); }

 private:
  std::string_view text_;
  std::size_t at_;
};

// The last bytes before a place that are not white space.
struct Before {
  char last = '\0';
  char prior = '\0';

  void pass(char c) {
    prior = last;
    last = c;
  }
};

// The value of a key and the first element of a list are in an event, unless such a
// colon or bracket stands where the comma after an event should.
bool may_be_event(std::string_view text, std::size_t at, Before before) {
  if (before.last == ':' && before.prior == '"') return false;
  if (before.last == '[' && before.prior != '}') return false;
  return text[at] == '{' && Look(text, at + 1).next() == '"';
}

bool begins_list(std::string_view text, std::size_t at) {
  if (!text.substr(at).starts_with(kList)) return false;
  Look look(text, at + kList.size());
  if (look.next() != ':' || look.next() != '[') return false;
  const char c = look.next();
  return c == '{' || c == ']';
}

bool may_end_list(std::string_view text, std::size_t at) {
  if (text[at] != ']') return false;
  Look look(text, at + 1);
  const char c = look.next();
  const bool ends = c == '}' || (c == ',' && look.next() == '"');
  if (!ends) return c == '\0' && look.at_end();
  // Spares a trial of each list in args: the next event of Kineto is not far.
  // Events of a further list are another matter.
  std::string_view near = text.substr(at, TextWindowReader::kLook);
  near = near.substr(0, near.find(kList));
  for (std::size_t brace = near.find('{'); brace != near.npos;
       brace = near.find('{', brace + 1)) {
    std::size_t key = brace + 1;
    while (key < near.size() && is_blank(near[key])) ++key;
    if (near.substr(key).starts_with("\"ph\"")) return false;
  }
  return true;
}

// Drops text up to the first place that `is_it(text, place, what is before)` takes;
// true if there is one. `before` is what stands before the text.
template <typename IsIt>
bool drop_to(TextWindowReader& windows, Before before, IsIt is_it) {
  for (;;) {
    const std::string_view text = windows.peek();
    // Decides only on places after which enough can be seen.
    const std::size_t hidden = windows.at_end() ? 0 : TextWindowReader::kLook - 1;
    const std::size_t end = text.size() - std::min(text.size(), hidden);
    for (std::size_t at = 0; at < end; ++at) {
      if (is_blank(text[at])) continue;
      if (is_it(text, at, before)) {
        windows.drop(at);
        return true;
      }
      before.pass(text[at]);
    }
    windows.drop(end);
    if (windows.at_end()) return false;
  }
}

void drop_all(TextWindowReader& windows) {
  drop_to(windows, {}, [](std::string_view, std::size_t, Before) { return false; });
}

}  // namespace

bool Recovery::go_on(const Damaged& damage, TextWindowReader& windows,
                     Document& document) {
  using Region = Document::Region;
  const bool first = !document.probing();
  if (first) {
    first_ = damage;
    region_ = document.region();
    in_cut_ = damage.cut;
    lost_at_ = damage.item;
    lost_ = region_ == Region::kEvents && !in_cut_ ? 1 : 0;
  }
  if (region_ == Region::kBegin) throw;
  const bool in_tail = this->in_tail();
  const bool affordable = charge(damage);
  if (!affordable && !in_tail) {
    throw first_->with_cause(
        "; recovery gave up: rereading a trace with this much damage would take too "
        "long");
  }
  windows.leave(damage.item);
  if ((in_tail || region_ == Region::kEvents) &&
      find_place(damage, first, affordable, windows, document)) {
    return true;
  }
  if (region_ == Region::kHeader && find_list(damage, windows, document)) return true;
  drop_all(windows);
  const auto offset = static_cast<std::uint64_t>(first_->offset());
  const std::uint64_t end = windows.text_end();
  if (lost_ > 0) document.lose_events(lost_at_, end, lost_);
  if (region_ == Region::kDone) {
    document.count(Anomaly::kTrailingContent, offset);
  } else if (in_cut_ || region_ == Region::kEvents) {
    document.accept_cut(end);
  } else {
    document.count(Anomaly::kDamagedMetadata, offset, end - lost_at_);
  }
  return false;
}

// Tells whether the work is within bounds.
bool Recovery::charge(const Damaged& damage) {
  const auto offset = static_cast<std::uint64_t>(damage.offset());
  spent_ += std::max(kLeastTrial, offset - damage.item);
  farthest_ = std::max(farthest_, offset);
  return spent_ <= kFree + kMultiple * farthest_;
}

bool Recovery::find_place(const Damaged& damage, bool first, bool affordable,
                          TextWindowReader& windows, Document& document) {
  // The apparent end of the list may have been false: then events follow, but any later
  // end looks the same as one in the members.
  const bool in_tail = this->in_tail();
  if (!first && damage.event && !damage.cut) ++lost_;
  const std::string_view text = windows.peek();
  Before before{','};
  // A comma too many may be all that is wrong: then the end of the list is right here.
  if (!text.empty() && !(first && (in_tail || text[0] == ']'))) {
    before = {text[0]};
    windows.drop(1);
  }
  bool is_member = false;
  const auto takes = [&](std::string_view rest, std::size_t at, Before last) {
    if (!document.list_form() && begins_list(rest, at)) return is_member = true;
    if (in_tail && (in_cut_ || !affordable)) return false;
    if (may_be_event(rest, at, last)) return true;
    if (!in_tail) return !in_cut_ && may_end_list(rest, at);
    is_member = rest[at] == '"' && last.last == ',' && keys_ < kMaxKeys;
    if (is_member) ++keys_;
    return is_member;
  };
  if (!drop_to(windows, before, takes)) return false;
  // Whatever seemed to be cut goes on, so it was damaged.
  const std::int64_t least = in_tail && is_member ? 0 : 1;
  const std::int64_t events = std::max(lost_, least);
  if (is_member) {
    document.probe_member(lost_at_, events);
  } else {
    document.probe(lost_at_, events);
  }
  return true;
}

bool Recovery::find_list(const Damaged& damage, TextWindowReader& windows,
                         Document& document) {
  const auto is_list = [](std::string_view text, std::size_t at, Before) {
    return begins_list(text, at);
  };
  if (!drop_to(windows, {}, is_list)) {
    if (!damage.cut) throw;
    return false;
  }
  const std::string_view text = windows.peek();
  windows.drop(text.find('[') + 1);
  document.count(
      Anomaly::kDamagedMetadata,
      static_cast<std::uint64_t>(damage.cut ? damage.item : damage.offset()));
  guessed_list_ = true;
  document.enter_events();
  return true;
}

}  // namespace tta::trace
