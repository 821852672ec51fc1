#!/usr/bin/env bash
# Format of every C++ file, lint of the shell scripts, and clang-tidy on what others build on: the contracts in
# libamp/base, the decisions of autocast and the scaler, and all code that reads bytes or runs inside another program.
#   ./scripts/lint.sh            all of it
#   ./scripts/lint.sh --fix      puts the format right, and ends
# clang-tidy can be told more or less: TIDY="libamp/nn profiler/report" ./scripts/lint.sh; TIDY= switches it off.
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

set_up_machine lint
mapfile -t cpp_files < <(git ls-files '*.cpp' '*.h' '*.cu' '*.cuh')

if [[ ${1:-} == --fix ]]; then
  step "Formatting ${#cpp_files[@]} files" clang-format-14 -i "${cpp_files[@]}"
  exit
fi

rc=0
# check TEXT COMMAND...: a step whose failure lets the next ones run.
check() {
  set +e
  (step "$@")
  rc=$((rc | $?))
  set -e
}

# shellcheck disable=SC2317  # called through check and step
tidy() {
  local -a files=()
  mapfile -t files < <(git ls-files -- "$@" | grep '\.cpp$')
  printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$(nproc)" clang-tidy-14 -p "$BUILD" --quiet --extra-arg=-Wno-unknown-warning-option
}

check "Checking the format of ${#cpp_files[@]} files" clang-format-14 --dry-run -Werror "${cpp_files[@]}"
check "Checking the scripts" shellcheck -x scripts/lib.sh scripts/demo.sh scripts/test.sh scripts/lint.sh .ci/run tests/scripts/lib_test.sh
read -ra folders <<<"${TIDY-libamp/base libamp/autocast libamp/dispatch libamp/scaler libamp/io libamp/data profiler/capture profiler/recorder}"
if ((${#folders[@]})); then
  configure_build
  check "Running clang-tidy on ${folders[*]}" tidy "${folders[@]}"
fi
exit "$rc"
