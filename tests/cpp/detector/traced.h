// SPDX-License-Identifier: BSD-3-Clause
// detector/traced.h: the arrays of a trace of tests/data, and what they are views of.
#pragma once

#include <string>

#include "detector/arrays.h"
#include "features/features.h"
#include "timeline/timed.h"
#include "trace/trace.h"

namespace tta::detector {

struct Traced {
  explicit Traced(const std::string& name)
      : timed(trace::load_file(std::string(TTA_TEST_DATA) + "/" + name)),
        args(timed),
        features(features::make_features(timed, args,
                                         timeline::make_windows(timed, {128}))) {
    arrays.windows = features.windows;
    arrays.token_begin = features.token_begin;
#define TTA_VIEW(name, type, unit, normalization, missing, doc) \
  arrays.name = features.tokens.name;
    TTA_TOKENS(TTA_VIEW)
#undef TTA_VIEW
  }
  Traced(const Traced&) = delete;

  test::Timed timed;
  timeline::EventArgs args;
  features::Features features;
  Arrays arrays;
};

}  // namespace tta::detector
