# SPDX-License-Identifier: BSD-3-Clause
# cmake/part.cmake: functions that add a part or a test in one line.

add_library(tta_flags INTERFACE)
target_compile_options(tta_flags INTERFACE -Wall -Wextra)
if(TTA_WERROR)
  target_compile_options(tta_flags INTERFACE -Werror)
endif()

# tta_add_part(<name> [PUBLIC <lib>...] [PRIVATE <lib>...] [WITHOUT <source>...])
#
# The static library tta_<name> of cpp/<name>/, tta_<a>_<b> of cpp/<a>/<b>/. PUBLIC
# lists the libraries that its headers use, PRIVATE those that only its sources use,
# WITHOUT sources that belong to another library. A part in a folder of this one must be
# added first; its sources are left out.
function(tta_add_part folder)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "PUBLIC;PRIVATE;WITHOUT")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS
    ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
  foreach(other ${ARG_WITHOUT})
    list(REMOVE_ITEM sources ${CMAKE_CURRENT_SOURCE_DIR}/${other})
  endforeach()
  get_property(inner GLOBAL PROPERTY tta_parts_in_${folder})
  foreach(other ${inner})
    list(FILTER sources EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/${other}/")
  endforeach()
  cmake_path(GET folder PARENT_PATH outer)
  set_property(GLOBAL APPEND PROPERTY tta_parts_in_${outer} ${folder})
  string(REPLACE "/" "_" name ${folder})
  add_library(tta_${name} STATIC ${sources})
  target_include_directories(tta_${name} PUBLIC ${PROJECT_SOURCE_DIR}/cpp)
  target_link_libraries(tta_${name} PUBLIC ${ARG_PUBLIC}
                                    PRIVATE tta_flags ${ARG_PRIVATE})
endfunction()

# tta_run_tests(<prefix> <program> <shards>)
#
# Runs a test program as <shards> ctests, each with a share of its tests: a process for
# each TEST would take longer to start than most tests take to run. A test that hangs is
# killed after it prints its stack (tests/cpp/support/main.cpp).
function(tta_run_tests prefix program shards)
  math(EXPR last "${shards} - 1")
  foreach(shard RANGE ${last})
    add_test(NAME ${prefix}.${shard} COMMAND ${program} --gtest_brief=1)
    set_tests_properties(${prefix}.${shard} PROPERTIES
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${shard}"
      TIMEOUT ${TTA_TEST_TIMEOUT}
      TIMEOUT_SIGNAL_NAME SIGQUIT TIMEOUT_SIGNAL_GRACE_PERIOD 10)
  endforeach()
endfunction()

# tta_add_test(<part> <shards> [WITHOUT <source>...])
#
# The program test_<part> of tests/cpp/<part>/, linked with that part alone, so it can
# use only what the part may use.
function(tta_add_test part shards)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "" "" "WITHOUT")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${part}/*.cpp)
  foreach(other ${ARG_WITHOUT})
    list(REMOVE_ITEM sources ${CMAKE_CURRENT_SOURCE_DIR}/${other})
  endforeach()
  add_executable(test_${part} ${sources})
  target_include_directories(test_${part} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(test_${part} PRIVATE tta_flags tta_${part} tta_test_main)
  # The tests' own code is not optimized: its templates then compile in two thirds of
  # the time, and in half of it under sanitizers.
  target_compile_options(test_${part} PRIVATE -O0)
  # Parsing these headers is half of a test file's compile time. The detector's tests
  # have torch's flags and cannot share them.
  if(part STREQUAL trace)
    target_precompile_headers(test_trace PRIVATE <gtest/gtest.h> <algorithm> <array>
      <cmath> <cstdint> <functional> <map> <memory> <optional> <set> <span> <string>
      <string_view> <utility> <vector>)
  elseif(NOT part STREQUAL detector)
    target_precompile_headers(test_${part} REUSE_FROM test_trace)
  endif()
  tta_run_tests(${part} test_${part} ${shards})
endfunction()
