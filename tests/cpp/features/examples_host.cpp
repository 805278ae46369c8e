// SPDX-License-Identifier: BSD-3-Clause
// Hosts and steps. Without launches an operator that calls no other is the launch cost.
#include "features/examples.h"

namespace tta::features {

using test::TraceText;

namespace {

// One operator of each kind, 10 us each except the copy's 30.
Example kinds() {
  TraceText text;
  double at = 0;
  for (const char* name :
       {"aten::sum", "aten::index", "aten::zero_", "aten::_foreach_add_",
        "record_param_comms", "autograd::engine::evaluate_function: MmBackward0",
        "Torch-Compiled Region: 0/0", "aten::quantize_per_tensor", "aten::item",
        "aten::view", "aten::add", "aten::mm"}) {
    text.op(name, at, 10);
    at += 10;
  }
  text.op("aten::copy_", at, 30);
  std::vector<Known> values = {{"op_copy_time", 30.0 / 150},
                               {"matrix_time", 10.0 / 150},
                               {"elementwise_time", 10.0 / 150},
                               {"operators", 1},
                               {"op_names", 1},
                               {"op_gap_median", 0},
                               {"busy", kMissing}};
  for (const char* of : {"reductions", "indexing", "fills", "optimizer", "collectives",
                         "backward", "compiled", "quantized", "reads", "views",
                         "elementwise", "matrix", "op_copies"}) {
    values.push_back({of, 1.0 / 13});
  }
  return {"an operator of each kind", text, values};
}

// Four as usual, 10 us apart, and one nine times as long.
Example one_long() {
  TraceText text;
  for (int i = 0; i < 5; ++i) text.op("aten::add", 20 * i, i == 4 ? 90 : 10);
  return {"one long operator",
          text,
          {
              {"op_ratio_median", 1},
              {"op_ratio_p90", ratio(90, 10)},
              {"op_gap_median", ratio(10, 10)},
              {"op_names", 1.0 / 5},
              {"repeats", 4.0 / 5},
              {"new_names", 1.0 / 5},
          }};
}

// A backend's thread carries out what the main one waits for.
Example collectives() {
  return {"collective on the host",
          TraceText().op("aten::mm", 0, 100).note("gloo:all_reduce", 20, 60, 2),
          {
              {"in_collectives", 60.0 / 160},
              {"in_operators", 100.0 / 160},
              {"threads_active", count(1.6)},
              {"collectives", 1.0 / 2},
          }};
}

// Ranges whose names show collectives; the first contains the forward pass.
Example data_parallel() {
  TraceText text;
  text.note("DistributedDataParallel.forward", 0, 100);
  text.note("before c10d::allreduce", 92, 5);
  for (int i = 0; i < 9; ++i) text.op("aten::mm", 10 * i, 10);
  return {"forward of DistributedDataParallel",
          text,
          {
              {"in_collectives", 0},
              {"in_operators", 1},
              {"in_python", 0.1},
              {"collectives", 0},
              {"operators", 9.0 / 11},
              {"matrix_time", 1},
              {"depth_mean", count(10.0 / 11)},
          }};
}

// Two steps; the first falls into [0, 51) with six events, and [51, 100).
Example steps() {
  TraceText text;
  text.step(1, 0, 100).step(2, 100, 50);
  for (int i = 0; i < 10; ++i) text.op("aten::add", 10 * i + 1, 5);
  text.op("aten::mm", 110, 40).note("Optimizer.step#SGD.step", 120, 10);
  return {"steps",
          text,
          {
              {"share_of_step", 0.51, 0},
              {"place_in_step", 0.255, 0},
              {"share_of_step", 0.49, 1},
              {"share_of_step", 1, 2},
              {"new_names", 2.0 / 6, 0},
              {"new_names", 0, 1},
              {"new_names", 1, 2},  // the next step's number is a name too
              {"in_optimizer", 10.0 / 50, 2},
              {"length_ratio", ratio(51, 50), 0},
              {"length_ratio", ratio(49, 50), 1},
          },
          6};
}

}  // namespace

std::vector<Example> host_examples() {
  return {kinds(), one_long(), collectives(), data_parallel(), steps()};
}

}  // namespace tta::features
