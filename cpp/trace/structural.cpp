// SPDX-License-Identifier: BSD-3-Clause
// trace/structural.cpp: the only file that includes simdjson.
#include "trace/structural.h"

#include <simdjson.h>
#include <new>

#include "trace/escapes.h"

namespace tta::trace {

namespace {

constexpr Fault kBadUtf8 = {"bad_utf8", "bytes that are not UTF-8",
                            "Re-encode the file as UTF-8, or fix the name that holds "
                            "them in the program that was profiled, or use recover "
                            "(recover=True, --recover) to replace them."};
constexpr Fault kControl = {"control_character",
                            "an unescaped control character inside a string (or a "
                            "quote too many or too few before it)",
                            "Escape it in the program that wrote the trace (\\n, \\t, "
                            "\\u0000), or delete that event, or use recover "
                            "(recover=True, --recover) to skip it."};

}  // namespace

TextScan scan_text(std::string_view text, bool ends) {
  TextScan scan;
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  bool in_string = false;
  std::size_t string_start = 0;
  const auto fault = [&](const Fault& what, std::size_t at) {
    scan.fault = what;
    scan.fault.at = at;
    scan.sound = in_string ? string_start : at;
  };
  for (std::size_t i = 0; i < text.size();) {
    const unsigned char c = bytes[i];
    if (c >= 0x80) {
      const Utf8Sequence sequence = utf8_at(text, i);
      const bool cut = sequence.cut && (in_string || !ends);
      if (!sequence.valid && !cut) {
        fault(kBadUtf8, i);
        return scan;
      }
      i += sequence.length;
      continue;
    }
    if (c == '\\') {
      // Stage 1 lets a backslash escape outside strings too. A byte that must be
      // looked at itself is not skipped.
      const bool skip =
          i + 1 < text.size() && bytes[i + 1] >= 0x20 && bytes[i + 1] < 0x80;
      i += skip ? 2 : 1;
      continue;
    }
    if (in_string) {
      if (c < 0x20) {
        fault(kControl, i);
        return scan;
      }
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
      string_start = i;
    } else if (c == '\n' || c == ',' || c == '}' || c == ']' || c == '{' || c == '[') {
      scan.last_cut = i + 1;
    }
    ++i;
  }
  if (in_string) scan.open_string = string_start;
  return scan;
}

static_assert(simdjson::SIMDJSON_PADDING <= kPadding);

// Asked when the program starts: simdjson chooses its path when it is asked first, and
// would end the process if memory ran out then.
const bool kIsFallback = simdjson::get_active_implementation()->name() == "fallback";

struct StructuralIndex::Impl {
  std::unique_ptr<simdjson::internal::dom_parser_implementation> parser;
};

StructuralIndex::StructuralIndex() : impl_(std::make_unique<Impl>()) {
  reserve(kPadding);
}

StructuralIndex::~StructuralIndex() = default;

void StructuralIndex::reserve(std::size_t length) {
  if (impl_->parser && impl_->parser->capacity() >= length) return;
  // Free the old one first: both together would double the peak. The depth is that
  // of simdjson's own stage 2, which never runs here.
  impl_->parser.reset();
  constexpr std::size_t kDepth = 1;
  const auto error =
      simdjson::get_active_implementation()->create_dom_parser_implementation(
          length, kDepth, impl_->parser);
  if (error != simdjson::SUCCESS) throw std::bad_alloc();
}

StageOne StructuralIndex::run(const char* text, std::size_t length) {
  impl_->parser->n_structural_indexes = 0;
  const auto error = impl_->parser->stage1(reinterpret_cast<const std::uint8_t*>(text),
                                           length, simdjson::stage1_mode::regular);
  switch (error) {
    case simdjson::SUCCESS:
      // The path for unknown processors looks for UTF-8 in strings only.
      if (kIsFallback && !simdjson::validate_utf8(text, length)) {
        return StageOne::kBadBytes;
      }
      return StageOne::kOk;
    case simdjson::EMPTY:
      return StageOne::kBlank;
    case simdjson::UNCLOSED_STRING:
      return StageOne::kUnclosedString;
    default:
      return StageOne::kBadBytes;
  }
}

std::uint32_t* StructuralIndex::places() {
  return impl_->parser->structural_indexes.get();
}

std::size_t StructuralIndex::count() const {
  return impl_->parser->n_structural_indexes;
}

}  // namespace tta::trace
