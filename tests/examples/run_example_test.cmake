# Runs PROGRAM ARGUMENTS under ampprof into WORK_DIR and checks the report against REQUIREMENTS.
file(REMOVE_RECURSE ${WORK_DIR})
file(MAKE_DIRECTORY ${WORK_DIR})
execute_process(COMMAND ${AMPPROF} run -o ${WORK_DIR}/out --stats every=1 --format json -- ${PROGRAM} ${ARGUMENTS}
                RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "ampprof run -- ${PROGRAM} ${ARGUMENTS}: exit code ${code}\n${output}")
endif()
set(options "")
foreach(requirement IN LISTS REQUIREMENTS)
  list(APPEND options --require "${requirement}")
endforeach()
execute_process(COMMAND ${AMPPROF} check ${WORK_DIR}/out/report.json ${options}
                RESULT_VARIABLE code OUTPUT_VARIABLE checked ERROR_VARIABLE checked)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "ampprof check: exit code ${code}\n${checked}\nThe run said:\n${output}")
endif()
message(STATUS "${checked}")
