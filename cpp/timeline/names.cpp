// SPDX-License-Identifier: BSD-3-Clause
// timeline/names.cpp: an index of all globs by two letters, and one pass over a name.
#include "timeline/names.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tta::timeline {
namespace {

enum class Where : std::uint8_t { kName, kAnyCase, kWord, kCall, kBuiltin, kDerived };

struct Row {
  Name id;
  Where where;
  std::string_view globs;
};
constexpr std::array kRows = {
#define TTA_NAME_ROW(id, where, names, doc) Row{Name::id, Where::where, names},
    TTA_NAMES(TTA_NAME_ROW)
#undef TTA_NAME_ROW
};

// Of ASCII alone: names do not depend on where the program runs.
constexpr bool is_small(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_letter(char c) { return is_small(c) || is_capital(c); }
constexpr char small(char c) {
  return is_capital(c) ? static_cast<char>(c - 'A' + 'a') : c;
}

// Tells whether a text is what a glob describes: "*" is any text, also none.
bool fits(std::string_view text, std::string_view glob, bool any_case) {
  const auto same = [&](char a, char b) {
    return a == b || (any_case && small(a) == b);
  };
  std::size_t at = 0, i = 0, star = glob.npos, resume = 0;
  while (at < text.size()) {
    if (i < glob.size() && glob[i] == '*') {
      star = i++;
      if (i == glob.size()) return true;
      resume = at;
    } else if (i < glob.size() && same(text[at], glob[i])) {
      ++at;
      ++i;
    } else if (star != glob.npos) {  // the star takes one letter more
      i = star + 1;
      at = ++resume;
    } else {
      return false;
    }
  }
  while (i < glob.size() && glob[i] == '*') ++i;
  return i == glob.size();
}

// Whether a word of a name begins, or ends, before the letter `i`.
bool divides(std::string_view name, std::size_t i) {
  return i == 0 || i == name.size() || !is_letter(name[i - 1]) || !is_letter(name[i]) ||
         (is_small(name[i - 1]) && is_capital(name[i]));
}

bool is_word(std::string_view name, std::size_t begin, std::string_view word) {
  const auto end = begin + word.size();
  if (end > name.size() || !divides(name, begin) || !divides(name, end)) return false;
  for (auto i = begin; i < end; ++i) {
    if (small(name[i]) != word[i - begin] || (i > begin && divides(name, i)))
      return false;
  }
  return true;
}

// Of a driver's call, without the prefix and a version such as _v2.
std::string_view bare_call(std::string_view name) {
  for (const std::string_view prefix : {"cuda", "hip", "cu"}) {
    if (name.starts_with(prefix)) {
      name.remove_prefix(prefix.size());
      break;
    }
  }
  return name.substr(0, name.find('_'));
}

// What follows in the name of a function of C; empty for any other name.
std::string_view builtin(std::string_view name) {
  for (const std::string_view prefix : {"<built-in method ", "<built-in function "}) {
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  }
  return {};
}

bool begins_with_words(std::string_view text, std::string_view words) {
  if (!text.starts_with(words)) return false;
  const auto rest = text.substr(words.size());
  return rest.empty() || rest[0] == ' ' || rest[0] == '>' || rest[0] == '.';
}

// All globs, by where they are looked for and by their first two letters.
class Index {
 public:
  Index() {
    for (const auto& row : kRows) {
      for (auto rest = row.globs; !rest.empty();) {
        const auto end = std::min(rest.find('|'), rest.size());
        add(row, rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
    }
  }

  Meanings of(std::string_view name) const {
    Meanings out;
    const auto begin = [&](std::string_view text, auto&& test) {
      for (const auto& e : begins_[slot(text, 0)]) {
        if (test(e)) out.set(static_cast<std::size_t>(e.id));
      }
    };
    begin(name, [&](const Entry& e) {
      return e.where == Where::kName && fits(name, e.glob, false);
    });
    const auto call = bare_call(name), words = builtin(name);
    begin(call,
          [&](const Entry& e) { return e.where == Where::kCall && e.glob == call; });
    begin(words, [&](const Entry& e) {
      return e.where == Where::kBuiltin && begins_with_words(words, e.glob);
    });
    for (std::size_t i = 0; i + 1 < name.size(); ++i) {
      for (const auto& e : inside_[slot(name, i)]) {
        if (out[static_cast<std::size_t>(e.id)]) continue;
        if (e.where == Where::kWord
                ? is_word(name, i, e.glob)
                : fits(name.substr(i), e.glob, e.where == Where::kAnyCase)) {
          out.set(static_cast<std::size_t>(e.id));
        }
      }
    }
    return out;
  }

 private:
  static constexpr std::size_t kSlots = 1024;
  struct Entry {
    Name id;
    Where where;
    std::string_view glob;  // from its first letter on
  };

  static std::size_t slot(std::string_view text, std::size_t i) {
    const auto letter = [&](std::size_t at) {
      return at < text.size() ? static_cast<unsigned char>(small(text[at])) : 0u;
    };
    return (letter(i) * 31 + letter(i + 1)) % kSlots;
  }

  void add(const Row& row, std::string_view glob) {
    const bool anywhere = row.where == Where::kWord || glob.starts_with('*');
    if (glob.starts_with('*')) glob.remove_prefix(1);
    (anywhere ? inside_ : begins_)[slot(glob, 0)].push_back({row.id, row.where, glob});
  }

  std::array<std::vector<Entry>, kSlots> begins_, inside_;
};

void derive(Meanings& of) {
  const auto has = [&](Name id) { return of[static_cast<std::size_t>(id)]; };
  const auto set = [&](Name id, bool on) { of.set(static_cast<std::size_t>(id), on); };
  set(Name::kBlocks,
      has(Name::kSynchronize) ||
          (has(Name::kMemcpy) && !has(Name::kAsync) && !has(Name::kQueued)));
  set(Name::kOperator, has(Name::kNamespaced) && !has(Name::kAutogradRange));
  set(Name::kCommunication, has(Name::kCommunication) && !has(Name::kWithinDevice));
  set(Name::kTuned, has(Name::kTunedPart) || has(Name::kTunedWord));
  set(Name::kOrdinaryUnits, has(Name::kOrdinaryUnits) && !has(Name::kTensorCores));
  const bool compiler = has(Name::kCompiles) || has(Name::kNumberedRegion) ||
                        has(Name::kLazyLoad) || has(Name::kImports);
  const bool driver = !compiler && (has(Name::kCudaCall) || has(Name::kHipCall));
  set(Name::kNoOperator, compiler || driver);
  if (!driver) return;
  set(has(Name::kCodeCall)                              ? Name::kLoads
      : has(Name::kAllocates) || has(Name::kReleases)   ? Name::kMemory
      : has(Name::kOrderedCall) && !has(Name::kCreates) ? Name::kInOrder
                                                        : Name::kSetsUp,
      true);
}

}  // namespace

Meanings meanings_of(std::string_view name) {
  static const Index index;
  auto out = index.of(name);
  derive(out);
  return out;
}

CopyDirection direction_of(const Meanings& name) {
  constexpr std::array kInOrder = {
      std::pair(Name::kToDevice, CopyDirection::kToDevice),
      std::pair(Name::kToHost, CopyDirection::kToHost),
      std::pair(Name::kInDevice, CopyDirection::kInDevice),
      std::pair(Name::kBetweenDevices, CopyDirection::kBetweenDevices),
      std::pair(Name::kInHost, CopyDirection::kInHost)};
  for (const auto& [meaning, direction] : kInOrder) {
    if (name[static_cast<std::size_t>(meaning)]) return direction;
  }
  return CopyDirection::kUnknown;
}

Names::Names(const trace::StringPool& strings) {
  of_.reserve(strings.size());
  for (std::uint32_t id = 0; id < strings.size(); ++id) {
    of_.push_back(meanings_of(strings.view(id)));
  }
}

}  // namespace tta::timeline
