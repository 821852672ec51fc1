#!/usr/bin/env bash
# All tests, from a fresh clone: installs what is missing, builds and runs them. With CI=true warnings are errors.
# Options are handed to ctest, as in ./scripts/test.sh -R scaler. Closes with "N passed, N failed, N skipped".
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

set_up_machine tests
configure_build
build_targets "Building everything" all

say "==> Running the tests"
output=$BUILD/test-output.txt results=$BUILD/test-results.xml
rm -f "$output" "$results"
start=$SECONDS rc=0
ctest --test-dir "$BUILD" --parallel "$(nproc)" --no-tests=error --output-on-failure --output-junit "$results" "$@" \
  </dev/null >"$output" 2>&1 || rc=$?
cat "$output" >>"$LOG"

read -r total failed skipped < <(summarize_tests "$output") || {
  tail -n 40 "$output"
  die "ctest ended with exit code $rc and ran no test. Its whole output is in $output"
}
if ((failed > 0)); then
  grep -v ' Passed  \|^ *Start ' "$output" | tail -n 200
  say "The whole output is in $output"
fi
if ((skipped > 0)); then
  say "Skipped:"
  show_skipped "$results"
fi
say "The tests took $((SECONDS - start)) s"
say "$((total - failed - skipped)) passed, $failed failed, $skipped skipped"
exit "$rc"
