# SPDX-License-Identifier: BSD-3-Clause
# cmake/dependencies.cmake: the third-party libraries of `trace`, and GoogleTest.

# Downloads and unpacks one release, pinned by hash, of a library that the system lacks:
# its files that match `pattern` are then in _deps/NAME-VERSION. Not FetchContent: it
# fails with a page of output that does not name the missing package, and few files are
# needed here. `packages`: what to install instead.
function(tta_download name version project sha256 pattern packages)
  set(url https://github.com/${project}/archive/refs/tags/v${version}.tar.gz)
  set(archive "${CMAKE_BINARY_DIR}/_deps/${name}-${version}.tar.gz")
  if(NOT EXISTS "${archive}")
    message(STATUS "${name} is not installed; downloading ${url}")
    file(DOWNLOAD "${url}" "${archive}" STATUS status INACTIVITY_TIMEOUT 15 TIMEOUT 120)
  endif()
  file(SHA256 "${archive}" found)
  if(NOT found STREQUAL sha256)
    file(REMOVE "${archive}")
    message(FATAL_ERROR "${name} is not installed, and ${url} cannot be downloaded "
      "(download: ${status}; hash: ${found}). Install it and configure again: "
      "${packages}.")
  endif()
  file(ARCHIVE_EXTRACT INPUT "${archive}" DESTINATION "${CMAKE_BINARY_DIR}/_deps"
       PATTERNS "${pattern}")
endfunction()

# --- simdjson: the system's package, otherwise one release pinned by hash --------
find_package(simdjson 3.0 CONFIG QUIET)
if(NOT simdjson_FOUND)
  tta_download(simdjson 3.0.1 simdjson/simdjson
    156b1bc5eb0561b2bd166b46d191fd3d95a3e709cc63761477d3b7aec2b6e9ed
    "*/singleheader/simdjson.*"
    "`apt-get install libsimdjson-dev` (Debian, Ubuntu), \
`dnf install simdjson-devel` (Fedora), `brew install simdjson` (macOS)")
  set(simdjson_dir "${CMAKE_BINARY_DIR}/_deps/simdjson-3.0.1/singleheader")
  add_library(tta_simdjson STATIC "${simdjson_dir}/simdjson.cpp")
  target_include_directories(tta_simdjson SYSTEM PUBLIC "${simdjson_dir}")
  add_library(simdjson::simdjson ALIAS tta_simdjson)
endif()

# --- protozero: headers alone; the system's package, otherwise a pinned release --
find_path(PROTOZERO_INCLUDE_DIR protozero/pbf_message.hpp)
if(NOT PROTOZERO_INCLUDE_DIR)
  tta_download(protozero 1.7.1 mapbox/protozero
    27e0017d5b3ba06d646a3ec6391d5ccc8500db821be480aefd2e4ddc3de5ff99
    "*/include/protozero/*"
    "`apt-get install libprotozero-dev` (Debian, Ubuntu), \
`dnf install protozero-devel` (Fedora), `brew install protozero` (macOS)")
  set(PROTOZERO_INCLUDE_DIR "${CMAKE_BINARY_DIR}/_deps/protozero-1.7.1/include")
endif()
add_library(tta_protozero INTERFACE)
target_include_directories(tta_protozero SYSTEM INTERFACE "${PROTOZERO_INCLUDE_DIR}")
target_compile_definitions(tta_protozero INTERFACE PROTOZERO_USE_VIEW=std::string_view)

find_package(Threads REQUIRED)

# --- Inflaters: ISA-L, if found, is three times as fast as zlib ------------------
find_package(ZLIB REQUIRED)
find_library(ISAL_LIBRARY isal)
find_path(ISAL_INCLUDE_DIR isa-l/igzip_lib.h)
if(ISAL_LIBRARY AND ISAL_INCLUDE_DIR)
  add_library(tta_isal INTERFACE IMPORTED)
  target_link_libraries(tta_isal INTERFACE ${ISAL_LIBRARY})
  target_include_directories(tta_isal SYSTEM INTERFACE ${ISAL_INCLUDE_DIR})
  target_compile_definitions(tta_isal INTERFACE TTA_HAVE_ISAL=1)
else()
  message(STATUS "ISA-L not found: gzip is read with zlib (Debian: libisal-dev)")
endif()

# --- Tests -----------------------------------------------------------------------
if(TTA_BUILD_TESTS)
  find_package(GTest CONFIG)
  if(NOT GTest_FOUND)
    message(FATAL_ERROR "GoogleTest is not installed: `apt-get install libgtest-dev`, "
      "or set TTA_BUILD_TESTS=OFF.")
  endif()
endif()
