# SPDX-License-Identifier: BSD-3-Clause
# cmake/python.cmake: finds the Python to build for; sets TTA_USE_TORCH, Torch.
#
# torch is asked for its place without importing it, which would take seconds.

# The tree's own environment comes first, unless another one is active or
# scikit-build-core (which names its interpreter itself) is driving.
if(NOT SKBUILD AND NOT DEFINED Python_EXECUTABLE AND NOT DEFINED ENV{VIRTUAL_ENV}
   AND EXISTS "${PROJECT_SOURCE_DIR}/.venv/bin/python")
  set(Python_EXECUTABLE "${PROJECT_SOURCE_DIR}/.venv/bin/python")
endif()

# Sets `out` to the folder of the installed Python package `name`, or to "".
function(tta_python_package_dir name out)
  execute_process(
    COMMAND ${Python_EXECUTABLE} -c
      "import importlib.util as u; s = u.find_spec('${name}'); print(s.submodule_search_locations[0] if s else '')"
    OUTPUT_VARIABLE dir OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(${out} "${dir}" PARENT_SCOPE)
endfunction()

set(TTA_USE_TORCH OFF)
if(TTA_BUILD_PYTHON OR NOT TTA_WITH_TORCH STREQUAL "OFF")
  find_package(Python 3.10 COMPONENTS Interpreter Development.Module REQUIRED)
endif()

if(TTA_BUILD_PYTHON)
  set(PYBIND11_FINDPYTHON ON)
  tta_python_package_dir(pybind11 pybind11_dir)
  find_package(pybind11 3 CONFIG HINTS "${pybind11_dir}/share/cmake/pybind11")
  if(NOT pybind11_FOUND)
    message(FATAL_ERROR "pybind11 >= 3 is not installed for ${Python_EXECUTABLE}. "
      "Run `make setup`, or `pip install 'pybind11>=3'` there, "
      "or set TTA_BUILD_PYTHON=OFF to build without the Python modules.")
  endif()
endif()

if(NOT TTA_WITH_TORCH STREQUAL "OFF")
  tta_python_package_dir(torch torch_dir)
  if(torch_dir)
    find_package(Torch CONFIG REQUIRED HINTS "${torch_dir}/share/cmake/Torch")
    find_library(TTA_TORCH_PYTHON torch_python
                 PATHS "${torch_dir}/lib" NO_DEFAULT_PATH REQUIRED)
    set(TTA_USE_TORCH ON)
  elseif(TTA_WITH_TORCH STREQUAL "AUTO")
    message(STATUS "torch is not installed for ${Python_EXECUTABLE}: "
      "the live reader and the detector are left out")
  else()
    message(FATAL_ERROR "torch is not installed for ${Python_EXECUTABLE}. "
      "Run `make setup`, or set TTA_WITH_TORCH=OFF to build without it.")
  endif()
endif()
