# SPDX-License-Identifier: BSD-3-Clause
# bench_loader.cmake: adds the benchmark to a build of the project, from outside:
#   cmake -DCMAKE_PROJECT_torchtraceap_INCLUDE=benchmarks/loader/bench_loader.cmake
# The normal build does not know of it. Deferred, as the parts do not exist yet.
set(TTA_BENCH_SOURCE ${CMAKE_CURRENT_LIST_DIR}/bench_loader.cpp)
function(tta_add_bench_loader)
  add_executable(bench_loader ${TTA_BENCH_SOURCE})
  target_link_libraries(bench_loader PRIVATE tta_flags tta_pipeline simdjson::simdjson)
endfunction()
cmake_language(DEFER CALL tta_add_bench_loader)
