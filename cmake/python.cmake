# SPDX-License-Identifier: BSD-3-Clause
# cmake/python.cmake: finds Python and pybind11.

# The tree's own environment comes first, unless another one is active or
# scikit-build-core (which names its interpreter itself) is driving.
if(NOT SKBUILD AND NOT DEFINED Python_EXECUTABLE AND NOT DEFINED ENV{VIRTUAL_ENV}
   AND EXISTS "${PROJECT_SOURCE_DIR}/.venv/bin/python")
  set(Python_EXECUTABLE "${PROJECT_SOURCE_DIR}/.venv/bin/python")
endif()

if(TTA_BUILD_PYTHON)
  find_package(Python 3.10 COMPONENTS Interpreter Development.Module REQUIRED)
  set(PYBIND11_FINDPYTHON ON)
  execute_process(
    COMMAND ${Python_EXECUTABLE} -c
      "import importlib.util as u; s = u.find_spec('pybind11'); print(s.submodule_search_locations[0] if s else '')"
    OUTPUT_VARIABLE pybind11_dir OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
  find_package(pybind11 3 CONFIG HINTS "${pybind11_dir}/share/cmake/pybind11")
  if(NOT pybind11_FOUND)
    message(FATAL_ERROR "pybind11 >= 3 is not installed for ${Python_EXECUTABLE}. "
      "Run `make setup`, or `pip install 'pybind11>=3'` there, "
      "or set TTA_BUILD_PYTHON=OFF to build without the Python modules.")
  endif()
endif()
