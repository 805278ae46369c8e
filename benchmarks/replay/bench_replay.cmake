# SPDX-License-Identifier: BSD-3-Clause
# bench_replay.cmake: adds the comparison of replays to a build, from outside, as
# benchmarks/loader/bench_loader.cmake does:
#   cmake -DCMAKE_PROJECT_torchtraceap_INCLUDE=benchmarks/replay/bench_replay.cmake
set(TTA_BENCH_REPLAY_SOURCE ${CMAKE_CURRENT_LIST_DIR}/bench_replay.cpp)
function(tta_add_bench_replay)
  add_executable(bench_replay ${TTA_BENCH_REPLAY_SOURCE})
  target_link_libraries(bench_replay PRIVATE tta_flags tta_replay)
endfunction()
cmake_language(DEFER CALL tta_add_bench_replay)
