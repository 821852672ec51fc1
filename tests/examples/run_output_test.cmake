# Runs PROGRAM ARGUMENTS; it must succeed, and print what the regular expression EXPECTED finds.
execute_process(COMMAND ${PROGRAM} ${ARGUMENTS} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE progress)
if(NOT code EQUAL 0 OR NOT output MATCHES "${EXPECTED}")
  message(FATAL_ERROR "${PROGRAM} ${ARGUMENTS}: exit code ${code}, need 0 and output that matches '${EXPECTED}'\n${output}${progress}")
endif()
