# Defines amp_nvtx: the headers of NVTX 3.2 or newer (the first with extended payloads). They come from the CUDA
# toolkit; where there is none, from NVTX's own release, pinned by its hash. NVTX has no library: its headers open the
# listener at run time.
add_library(amp_nvtx INTERFACE)
target_link_libraries(amp_nvtx INTERFACE ${CMAKE_DL_LIBS})
find_path(AMP_NVTX_INCLUDE_DIR nvtx3/nvToolsExtPayload.h HINTS ${CUDAToolkit_INCLUDE_DIRS}
          DOC "Folder that holds nvtx3/nvToolsExtPayload.h")
if(AMP_NVTX_INCLUDE_DIR)
  target_include_directories(amp_nvtx SYSTEM INTERFACE ${AMP_NVTX_INCLUDE_DIR})
  return()
endif()

set(version 3.2.1)
set(url https://github.com/NVIDIA/NVTX/archive/refs/tags/v${version}.tar.gz)
set(sha256 737c3035f0e43a2252e7cd94c3f26e11e169f624236efe31794f044ce44a70af)
set(remedy "ampprof needs NVTX's headers (3.2 or newer). No CUDA toolkit was found, so they are fetched once, and that needs a network. Without one, do one of these:\n"
           "  install a CUDA toolkit that has them (13.0 does), or\n"
           "  download ${url} elsewhere, unpack it, and pass -DFETCHCONTENT_SOURCE_DIR_NVTX3=FOLDER, or\n"
           "  pass -DAMP_NVTX_INCLUDE_DIR=FOLDER, a folder that holds nvtx3/nvToolsExtPayload.h.")
string(CONCAT remedy ${remedy})

if(FETCHCONTENT_SOURCE_DIR_NVTX3)
  set(nvtx3_SOURCE_DIR ${FETCHCONTENT_SOURCE_DIR_NVTX3})
else()
  # Downloaded here and not by FetchContent itself, whose failure would end the configuration without the remedy.
  set(archive ${CMAKE_BINARY_DIR}/_deps/nvtx-${version}.tar.gz)
  set(actual "")
  if(EXISTS ${archive})
    file(SHA256 ${archive} actual)
  endif()
  if(NOT actual STREQUAL sha256)
    message(STATUS "No CUDA toolkit: fetching NVTX ${version}")
    file(DOWNLOAD ${url} ${archive} TIMEOUT 120 INACTIVITY_TIMEOUT 30 STATUS status)
    list(POP_FRONT status code text)
    if(EXISTS ${archive})
      file(SHA256 ${archive} actual)
    endif()
    if(code)
      message(FATAL_ERROR "Fetching ${url} failed: ${text}\n${remedy}")
    elseif(NOT actual STREQUAL sha256)
      message(FATAL_ERROR "${url} is not the expected file: got SHA-256 ${actual}, need ${sha256}\n${remedy}")
    endif()
  endif()
  include(FetchContent)
  FetchContent_Declare(nvtx3 URL ${archive} URL_HASH SHA256=${sha256} DOWNLOAD_EXTRACT_TIMESTAMP OFF SOURCE_SUBDIR none)
  FetchContent_MakeAvailable(nvtx3)
endif()
if(NOT EXISTS ${nvtx3_SOURCE_DIR}/c/include/nvtx3/nvToolsExtPayload.h)
  message(FATAL_ERROR "${nvtx3_SOURCE_DIR} holds no c/include/nvtx3/nvToolsExtPayload.h.\n${remedy}")
endif()
target_include_directories(amp_nvtx SYSTEM INTERFACE ${nvtx3_SOURCE_DIR}/c/include)
