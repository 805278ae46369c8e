# SPDX-License-Identifier: BSD-3-Clause
# bench_rules.cmake: adds the timing of single rules to a build, from outside, as
# benchmarks/loader/bench_loader.cmake does:
#   cmake -DCMAKE_PROJECT_torchtraceap_INCLUDE=benchmarks/analysis/bench_rules.cmake
set(TTA_BENCH_RULES_SOURCE ${CMAKE_CURRENT_LIST_DIR}/bench_rules.cpp)
function(tta_add_bench_rules)
  add_executable(bench_rules ${TTA_BENCH_RULES_SOURCE})
  target_link_libraries(bench_rules PRIVATE tta_flags tta_pipeline)
endfunction()
cmake_language(DEFER CALL tta_add_bench_rules)
