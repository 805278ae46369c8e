// SPDX-License-Identifier: BSD-3-Clause
// trace/structural.cpp: the only file that includes simdjson.
#include "trace/structural.h"

#include <simdjson.h>

#include <new>

namespace tta::trace {

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
