# SPDX-License-Identifier: BSD-3-Clause
# cmake/torch.cmake: finds the torch to build for. TTA_TORCH is ON if there is one.
#
# Not find_package(Torch): for a CUDA build of torch it requires a CUDA toolkit, which
# nothing here needs. The target tta_torch has the headers and libraries of the wheel.
set(TTA_BUILD_TORCH AUTO CACHE STRING
  "Build the network and the module _torch: ON, OFF, or AUTO where torch is installed")
set_property(CACHE TTA_BUILD_TORCH PROPERTY STRINGS AUTO ON OFF)

set(TTA_TORCH OFF)
if(TTA_BUILD_TORCH)
  # Found without importing torch, which takes seconds.
  set(torch_python "${Python_EXECUTABLE}")
  if(NOT torch_python)
    find_program(TTA_TORCH_PYTHON python3)
    set(torch_python "${TTA_TORCH_PYTHON}")
  endif()
  execute_process(
    COMMAND ${torch_python} -c
      "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')"
    OUTPUT_VARIABLE torch_dir OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  set(torch_problem "")
  if(NOT torch_dir)
    set(torch_problem "torch is not installed for ${torch_python}")
  elseif(NOT EXISTS "${torch_dir}/include/torch/csrc/api/include/torch/nn.h")
    set(torch_problem "the torch in ${torch_dir} has no C++ headers")
  else()
    file(STRINGS "${torch_dir}/version.py" line REGEX "__version__ = " LIMIT_COUNT 1)
    string(REGEX MATCH "[0-9]+\\.[0-9]+" TTA_TORCH_VERSION "${line}")
    if(TTA_TORCH_VERSION VERSION_LESS 2.11)
      set(torch_problem "torch is ${TTA_TORCH_VERSION}, older than 2.11")
    endif()
  endif()
  if(NOT torch_problem)
    set(TTA_TORCH ON)
    message(STATUS "torch ${TTA_TORCH_VERSION}: ${torch_dir}")
    add_library(tta_torch INTERFACE)
    target_include_directories(tta_torch SYSTEM INTERFACE
      "${torch_dir}/include" "${torch_dir}/include/torch/csrc/api/include")
    # Its headers use __FILE__ in messages. Replace paths of the build machine, absolute
    # or relative (ccache's base_dir), by the path within torch.
    file(RELATIVE_PATH torch_from_here "${CMAKE_BINARY_DIR}" "${torch_dir}")
    target_compile_options(tta_torch INTERFACE
      "-fmacro-prefix-map=${torch_dir}=torch"
      "-fmacro-prefix-map=${torch_from_here}=torch")
    target_link_libraries(tta_torch INTERFACE
      "${torch_dir}/lib/libtorch_cpu${CMAKE_SHARED_LIBRARY_SUFFIX}"
      "${torch_dir}/lib/libc10${CMAKE_SHARED_LIBRARY_SUFFIX}")
  elseif(TTA_BUILD_TORCH STREQUAL AUTO)
    message(STATUS "${torch_problem}: built without the network and the module _torch")
  else()
    message(FATAL_ERROR "${torch_problem}. Install torch >= 2.11 there, "
      "or set TTA_BUILD_TORCH=OFF to build without the network.")
  endif()
endif()
