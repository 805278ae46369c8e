// SPDX-License-Identifier: BSD-3-Clause
// Rules of what stops the host, on hand-worked traces: memory calls, the garbage
// collector, the loading of data.
#include <vector>

#include "patterns/found.h"

namespace tta::patterns {
namespace {

// Steps of 1 ms with a kernel of 100 us at their begin and at their end, and one memory
// call of `length` us between in those steps that `calls` tells.
TraceText churn(const std::string& calls, double length,
                const char* name = "cudaMalloc", int tid = 1) {
  TraceText text;
  for (int i = 0; i < static_cast<int>(calls.size()); ++i) {
    const double at = i * 1'000;
    text.step(i, at, 1'000).launched(at, at + 10, 100, 2 * i + 1);
    for (int k = 0; k < calls[i] - '0'; ++k) {
      text.call(name, at + 200 + k * (length + 1), length, 0, tid);
    }
    text.launched(at + 850, at + 860, 100, 2 * i + 2);
  }
  return text;
}

// The same call five times, and then a kernel.
TraceText without_steps(const char* last) {
  TraceText text;
  for (int i = 0; i < 5; ++i) {
    const double at = i * 1'000;
    text.launched(at, at + 10, 100, 2 * i + 1).call("cudaMalloc", at + 200, 200, 0);
  }
  return text.launched(5'000, 5'010, 90, 100, 7, last);
}

TEST(AllocatorChurn, Costs) {
  const Cost cases[] = {
      {"calls in steady steps are idle time", churn("01111", 200), 4 * 200'000},
      {"the first step counts if like the others", churn("21111", 100), 6 * 100'000},
      {"it filled the cache: warm-up", churn("31111", 100), 4 * 100'000},
      {"growth in one step", churn("00300", 100), 0},
      {"in two", churn("00120", 100), 3 * 100'000},
      {"two calls are incidents", churn("00110", 100), 0},
      {"what launches nothing new is warm", without_steps("gemm"), 5 * 200'000},
      {"still the first iteration", without_steps("new"), 0},
      {"of a thread that holds nobody up",
       churn("01111", 200, "cudaMalloc", 9).op("aten::slow_on_cpu", 0, 5'000), 0},
      {"while the device works",
       churn("01111", 200).call("cudaLaunchKernel", 0, 1, 99).kernel(5, 4'900, 99), 0},
      {"ordered on a stream", churn("01111", 200, "cudaMallocAsync"), 0},
      {"so is this one", churn("01111", 200, "cudaFreeAsync"), 0},
      {"the driver's", churn("01111", 200, "cuMemCreate"), 4 * 200'000},
      {"with a version", churn("01111", 200, "cuMemFree_v2"), 4 * 200'000},
      {"under a hundredth of 4960 us", churn("01111", 12.3), 0},
      {"a hundredth", churn("01111", 12.5), 4 * 12'500},
  };
  expect_costs(kAllocatorChurn, cases);
  EXPECT_EQ(all_in(churn("01111", 200)),
            "allocator_churn.allocate x4: 800 us, 800 idle");
  EXPECT_EQ(all_in(churn("01111", 200, "hipFree")),
            "allocator_churn.release x4: 800 us, 800 idle");
}

// Launches of `n` kernels 200 us apart with a call for memory before and after each: as
// without a cache, or by `pattern` for each place (a: takes, r: gives back).
TraceText between_launches(int n, const std::string& pattern, double at = 0) {
  TraceText text;
  for (int i = 0; i < n; ++i, at += 200) {
    const auto what = pattern[static_cast<std::size_t>(i) % pattern.size()];
    if (what == 'a' || what == 'b') text.call("cudaMalloc", at, 40, 0);
    text.launched(at + 50, at + 60, 20, i + 1);
    if (what == 'r' || what == 'b') text.call("cudaFree", at + 100, 90, 0);
  }
  return text;
}

TEST(AllocatorChurn, WithoutACacheIsTold) {
  // 99 times 90 us and 40, and 40 before the first; the last call holds up none.
  const auto f = first(between_launches(100, "b"), kAllocatorChurn);
  EXPECT_EQ(figures(f), "allocator_churn.uncached x199: 12910 us, 12910 idle");
  EXPECT_TRUE(says(f.message, "caching allocator is off"));
  EXPECT_TRUE(says(f.advice, "PYTORCH_NO_CUDA_MEMORY_CACHING"));
  // Some work is done in place, and several tensors go together.
  EXPECT_EQ(first(between_launches(100, "ab.b."), kAllocatorChurn).subtype, 2);
  // Once in twenty launches is a cache that does not suffice, and a cache that fills
  // gives nothing back.
  EXPECT_NE(
      first(between_launches(400, "b..................."), kAllocatorChurn).subtype, 2);
  EXPECT_NE(first(between_launches(100, "a"), kAllocatorChurn).subtype, 2);
}

TEST(AllocatorChurn, EmptyingTheCacheIsNotRunningWithoutOne) {
  TraceText text = between_launches(100, "a");
  for (int i = 0; i < 100; ++i) {
    text.python("torch/cuda/memory.py(260): empty_cache", i * 200 + 95, 100)
        .call("cudaFree", i * 200 + 100, 90, 0);
  }
  EXPECT_FALSE(says(first(text, kAllocatorChurn).advice, "NO_CUDA_MEMORY_CACHING"));
}

// The allocator runs out in two steps: three calls of 100 us each, in one operator.
TEST(AllocatorChurn, RunningOutOfMemoryIsASubTypeOfItsOwn) {
  TraceText text = churn("0000", 100);
  for (const double at : {1'200.0, 2'200.0}) {
    text.op("aten::empty", at - 1, 310).call("cudaMalloc", at, 100, 0);
    text.call("cudaFree", at + 100, 100, 0).call("cudaMalloc", at + 200, 100, 0);
  }
  const auto f = first(text, kAllocatorChurn);
  EXPECT_EQ(figures(f), "allocator_churn.retry x6: 600 us, 600 idle");
  EXPECT_TRUE(says(f.message, "gave its cached memory back"));
  EXPECT_TRUE(says(f.advice, "PYTORCH_CUDA_ALLOC_CONF"));
}

// Two kernels, and 10 ms between the end of the first and the launch of the second.
TraceText two_kernels() {
  return TraceText().launched(0, 10, 90, 1).launched(10'100, 10'110, 890, 2);
}

TraceText many_collections(double length) {
  auto text = two_kernels();
  for (int i = 0; i < 10; ++i) text.python("Python GC", 200 + i * 500, length);
  return text;
}

// Of 100 ms in all.
TraceText one_collection(double length) {
  return TraceText()
      .launched(0, 10, 90, 1)
      .launched(50'000, 50'010, 49'990, 2)
      .python("Python GC", 1'000, length);
}

// 200 ms without any launch.
TraceText long_gap() {
  return TraceText()
      .launched(0, 10, 90, 1)
      .launched(200'100, 200'110, 890, 2)
      .python("train.py(3): step", 0, 200'200);
}

constexpr auto kAppend = "<built-in method append of list object at 0x7f00>";
constexpr auto kWrite = "<built-in method write of _io.BufferedWriter object>";

TEST(GcPause, Costs) {
  const Cost cases[] = {
      {"while the device works",
       TraceText().launched(0, 10, 9'000, 1).python("Python GC", 50, 4'050), 0},
      {"short ones are part of running Python", many_collections(99.9), 0},
      {"long ones", many_collections(100), 10 * 100'000},
      {"of a thread that holds nobody up",
       two_kernels()
           .op("aten::slow_on_cpu", 95, 10'000)
           .python("Python GC", 200, 4'000, 9),
       0},
      {"an element stored for ages", long_gap().python(kAppend, 500, 100'000),
       100'000'000},
      {"for less", long_gap().python(kAppend, 500, 99'999), 0},
      {"nothing has to be guessed where the collector was recorded",
       long_gap().python(kAppend, 500, 150'000).python("Python GC", 180'000, 20), 0},
      {"a gap without events", long_gap(), 0},
      {"a file that is written", long_gap().python(kWrite, 500, 150'000), 0},
      {"under a hundredth", one_collection(990), 0},
      {"a hundredth", one_collection(1'000), 1'000'000},
  };
  expect_costs(kGcPause, cases);
}

TEST(GcPause, IsRecordedOrConjectured) {
  // The device is busy until 100 us; the collection began at 50.
  EXPECT_EQ(all_in(two_kernels().python("Python GC", 50, 4'050)),
            "gc_pause.recorded x1: 4000 us, 4000 idle");
  // A call of collect is one and not two with its record.
  EXPECT_EQ(figures(first(two_kernels()
                              .python("train.py(3): step", 0, 10'200)
                              .python("<built-in function collect>", 1'000, 4'000)
                              .python("Python GC", 1'010, 3'980),
                          kGcPause)),
            "gc_pause.recorded x1: 4000 us, 4000 idle, train.py:3");
  EXPECT_EQ(figures(first(long_gap().python(kAppend, 500, 150'000), kGcPause)),
            "gc_pause.conjectured x1: 150000 us, 150000 idle, train.py:3");
  const auto on_host =
      TraceText().op("aten::mm", 0, 1'000).python("Python GC", 1'000, 4'000);
  EXPECT_EQ(all_in(on_host), "gc_pause.recorded x1: 4000 us, 0 idle");
  EXPECT_FALSE(says(first(on_host, kGcPause).message, "device"));
}

const std::string kWorkers =
    "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
const std::string kSingle =
    "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";

TEST(DataloaderBound, Costs) {
  const auto with = [](const TraceText& text) {
    return TraceText(text).launched(0, 10, 90, 1).launched(1100, 1110, 890, 2);
  };
  const Cost cases[] = {
      {"idle time inside the loader only", with(TraceText().note(kSingle, 50, 950)),
       900'000},
      {"of another process",
       with(TraceText().host("user_annotation", kWorkers, 50, 950, "", 1, 200)), 0},
      {"of a prefetch thread",
       with(TraceText().note(kWorkers, 50, 950, 9).op("aten::slow_on_cpu", 90, 1000)),
       0},
      {"while the device works",
       TraceText().launched(0, 10, 1990, 1).note(kWorkers, 50, 950), 0},
  };
  expect_costs(kDataloaderBound, cases);
  const auto f = first(with(TraceText().note(kSingle, 50, 950)), kDataloaderBound);
  EXPECT_EQ(figures(f), "dataloader_bound.single_process x1: 900 us, 900 idle");
  EXPECT_TRUE(says(f.message, "num_workers=0"));
  const auto on_host = TraceText().op("aten::mm", 0, 500).note(kWorkers, 500, 500);
  EXPECT_EQ(all_in(on_host), "dataloader_bound.multi_process x1: 500 us, 0 idle");
  EXPECT_FALSE(says(first(on_host, kDataloaderBound).message, "device"));
}

// Three batches of 900 us, and the answer that there are no more.
TraceText three_batches(double last) {
  TraceText text;
  for (int i = 0; i < 4; ++i) {
    const double at = 1'000 * i;
    text.note(kSingle, at, i < 3 ? 900 : last).launched(at + 910, at + 920, 80, i + 1);
  }
  return text;
}

TEST(DataloaderBound, TheEndOfTheDataIsNoBatch) {
  EXPECT_TRUE(says(first(three_batches(60), kDataloaderBound).message, "3 batches"));
  EXPECT_TRUE(says(first(three_batches(400), kDataloaderBound).message, "4 batches"));
}

// Steps of 1 ms, numbered from `number` on, each waiting so long for workers.
TraceText waits(const std::vector<double>& lengths, int number = 0) {
  TraceText text;
  double at = 0;
  for (int i = 0; i < static_cast<int>(lengths.size()); ++i) {
    if (number >= 0) text.step(number + i, at, lengths[i] + 1'000);
    text.note(kWorkers, at, lengths[i]);
    at += lengths[i];
    text.op("aten::mm", at + 10, 20).launched(at + 15, at + 20, 970, i + 1);
    at += 1'000;
  }
  return text;
}

TEST(DataloaderBound, TheFirstBatchWaitsForWorkersToStart) {
  const auto starts = [](const TraceText& text) {
    return says(all_in(text), "worker_start");
  };
  const std::vector<double> slow_first = {9'000, 100, 50, 100};
  EXPECT_TRUE(starts(waits(slow_first)));
  // The rest of it, 250 of 13,250 us, would not be a finding by itself; this would.
  EXPECT_FALSE(says(all_in(waits(slow_first)), "multi_process"));
  EXPECT_TRUE(says(all_in(waits({9'000, 300, 300, 300})), "multi_process"));
  EXPECT_TRUE(starts(waits(slow_first, -1)));  // no steps
  // A recording that began within an epoch: one of many workers may be slow in turn.
  EXPECT_FALSE(starts(waits(slow_first, 5)));
  EXPECT_TRUE(starts(waits({9'000, 9, 9, 9, 9, 9, 9, 9, 9}, 5)));
  EXPECT_FALSE(starts(waits({9'000, 100, 3'000, 100})));  // not far above the others
  EXPECT_FALSE(starts(waits({100, 9'000, 100, 100})));    // not the first
  EXPECT_FALSE(starts(waits({9'000, 100})));              // too few to tell
}

TEST(DataloaderBound, AnIteratorOfWorkersIsMadeOnceAnEpoch) {
  // The second epoch's first batch: no step between it and the loader's last answer.
  auto text = waits({9'000, 100, 50, 100});
  double at = 9'250 + 4'000;
  text.note(kWorkers, at, 20).note(kWorkers, at + 30, 8'000);
  for (int i = 0; i < 3; ++i) {
    at += i == 0 ? 8'030 : 1'000;
    text.launched(at + 15, at + 20, 970, 10 + i);
  }
  const auto f = first(text, kDataloaderBound);
  EXPECT_TRUE(says(figures(f), "worker_start x2"));
  EXPECT_TRUE(says(f.message, "4 later batches"));
  EXPECT_TRUE(says(f.advice, "persistent_workers=True"));
  // Frames tell without any comparison, and what making it took is of it.
  const auto made =
      TraceText()
          .launched(0, 10, 90, 1)
          .python("train.py(3): train", 0, 1'200)
          .python("torch/utils/data/dataloader.py(415): _get_iterator", 200, 300)
          .note(kWorkers, 600, 400)
          .launched(1'100, 1'110, 890, 2);
  EXPECT_EQ(figures(first(made, kDataloaderBound)),
            "dataloader_bound.worker_start x2: 700 us, 700 idle, train.py:3");
}

TEST(DataloaderBound, NamesWhatMostOfTheTimeWentInto) {
  const auto message = [](double zoom) {
    auto text = three_batches(60);
    for (int i = 0; i < 3; ++i) {
      const double at = 1'000 * i;
      text.python("transformers/image.py(301): resize", at + 5, 890)
          .python("scipy/zoom.py(4): zoom", at + 6, 880)
          .python("<built-in function zoom_shift>", at + 8, zoom);
    }
    return first(text, kDataloaderBound).message;
  };
  EXPECT_TRUE(says(message(800),
                   "2.4 ms went into <built-in function zoom_shift>, "
                   "called from scipy"));
  EXPECT_TRUE(says(message(300), "went into scipy/zoom.py(4): zoom."));
  EXPECT_FALSE(says(message(300), "zoom_shift"));
}

}  // namespace
}  // namespace tta::patterns
