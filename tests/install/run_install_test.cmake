# Installs the build into a folder of its own, then configures, builds and runs a separate project against it, and the
# installed ampprof. Started by ctest as install_package with BUILD_DIR, SOURCE_DIR, WORK_DIR, BUILD_TYPE,
# GENERATOR, VERSION, WITH_PROFILER and SANITIZE.
set(prefix ${WORK_DIR}/prefix)
file(REMOVE_RECURSE ${WORK_DIR})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(code)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${code}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${prefix})
set(expected lib/libamp.a lib/libamp_base.a lib/cmake/amp/ampConfig.cmake lib/cmake/amp/ampConfigVersion.cmake
             include/libamp/amp.h include/libamp/base/ops.def)
if(WITH_PROFILER)
  list(APPEND expected bin/ampprof lib/libampprof_recorder.so)
endif()
if(EXISTS ${BUILD_DIR}/viewer/viewer.html)
  list(APPEND expected share/ampprof/viewer.html)
endif()
foreach(file IN LISTS expected)
  if(NOT EXISTS ${prefix}/${file})
    message(FATAL_ERROR "the installation lacks ${file}")
  endif()
endforeach()

# Nothing of the build or source tree may be named in what is installed: it is meant to be moved.
file(GLOB package_files ${prefix}/lib/cmake/amp/*.cmake)
foreach(file IN LISTS package_files)
  file(READ ${file} text)
  foreach(folder ${BUILD_DIR} ${SOURCE_DIR})
    string(FIND "${text}" "${folder}" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "${file} names ${folder}")
    endif()
  endforeach()
endforeach()

# Moved, as by somebody who unpacks it elsewhere.
file(RENAME ${prefix} ${WORK_DIR}/moved)
set(prefix ${WORK_DIR}/moved)

set(flags "")
if(SANITIZE)
  set(flags -DCMAKE_CXX_FLAGS=-fsanitize=${SANITIZE})
endif()
run(${CMAKE_COMMAND} -S ${SOURCE_DIR}/tests/install/consumer -B ${WORK_DIR}/build -G ${GENERATOR}
    -DCMAKE_BUILD_TYPE=${BUILD_TYPE} -DCMAKE_PREFIX_PATH=${prefix} ${flags})
run(${CMAKE_COMMAND} --build ${WORK_DIR}/build)
run(${WORK_DIR}/build/consumer)
message(STATUS "consumer: ${output}")

if(WITH_PROFILER)
  run(${prefix}/bin/ampprof --version)
  if(NOT output MATCHES "${VERSION}")
    message(FATAL_ERROR "ampprof --version says '${output}', need ${VERSION}")
  endif()
  # The installed ampprof finds the installed recorder: a capture of the consumer holds what it did.
  run(${prefix}/bin/ampprof run -o ${WORK_DIR}/report --format json -- ${WORK_DIR}/build/consumer)
  file(READ ${WORK_DIR}/report/report.json report)
  string(JSON ops LENGTH "${report}" ops)
  if(ops EQUAL 0)
    message(FATAL_ERROR "the report of the consumer under the installed ampprof names no op:\n${output}")
  endif()
endif()
