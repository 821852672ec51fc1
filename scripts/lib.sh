# Shared by demo.sh and test.sh: one line of output per step, a log for the details, and the packages of the machine.
# Sourced, not run. Everything here works as root or through sudo, with or without a terminal.
# shellcheck shell=bash

if [[ -z ${BASH_VERSION:-} ]]; then
  echo "these scripts need bash: run them as ./scripts/demo.sh and ./scripts/test.sh" >&2
  exit 2
fi
set -euo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly ROOT
cd "$ROOT"
readonly BUILD=${AMP_BUILD_DIR:-$ROOT/build/release}
readonly LOG_DIR=${AMP_LOG_DIR:-$ROOT/build}
LOG=$LOG_DIR/${0##*/}.log
mkdir -p "$LOG_DIR"
: >"$LOG"

# --- steps -----------------------------------------------------------------------------------------------------

say() { printf '%s\n' "$*"; }

die() {
  printf '\n%s\n' "$*" >&2
  exit 1
}

# step TEXT COMMAND...: runs the command with its output in the log; where it fails, shows the end of that output and
# ends the script. Never call it left of && or ||, nor as a condition: bash then ignores failures inside the command.
step() {
  local text=$1 start=$SECONDS from rc=0
  shift
  printf '==> %s ... ' "$text"
  from=$(($(wc -c <"$LOG") + 1))
  printf '\n### %s: %s\n' "$text" "$*" >>"$LOG"
  set +e
  (
    set -e
    "$@"
  ) >>"$LOG" 2>&1 </dev/null
  rc=$?
  set -e
  if ((rc != 0)); then
    printf 'failed (exit code %d)\n\n' "$rc"
    tail -c "+$from" "$LOG" | tail -n 40
    die "The step \"$text\" failed. Its whole output is in $LOG"
  fi
  printf 'done (%d s)\n' $((SECONDS - start))
}

# --- packages --------------------------------------------------------------------------------------------------

as_root() {
  if [[ $(id -u) == 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    echo "Installing packages needs root, and there is no sudo: run this script as root, or install sudo." >&2
    return 1
  fi
}

apt_get() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -y -q -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 \
    -o Acquire::Retries=3 "$@"
}

# installed_version PACKAGE: prints its version, or nothing.
installed_version() {
  dpkg-query -W -f '${db:Status-Status} ${Version}\n' "$1" 2>/dev/null | sed -n 's/^installed //p' | head -n 1
}

# need PACKAGE [PROGRAM]: notes the package as missing, unless it or that program (from wherever it came) is there.
MISSING=()
need() {
  if [[ -n ${2:-} ]] && command -v "$2" >/dev/null; then return; fi
  if [[ -n $(installed_version "$1") ]]; then return; fi
  MISSING+=("$1")
}

catch2_is_new_enough() { [[ -n $1 ]] && dpkg --compare-versions "$1" ge 3; }

# candidate_version PACKAGE [RELEASE]: what apt-get would install.
candidate_version() {
  LC_ALL=C apt-cache ${2:+-t "$2"} policy "$1" 2>/dev/null | sed -n 's/^ *Candidate: //p' | grep -vx '(none)' || true
}

# debian_archive CODENAME: how this machine reaches its Debian archive, as the lines "URIs: ..." and, where its entry
# has one, "Signed-By: ...", read from whichever form of sources it uses. Prints nothing if it has no such entry.
debian_archive() {
  local codename=$1 sources=${2:-/etc/apt} file found=""
  local -a files=()
  mapfile -t files < <(find "$sources/sources.list.d" -maxdepth 1 -name '*.sources' 2>/dev/null | sort)
  for file in "${files[@]}"; do
    [[ -n $found ]] || found=$(archive_of_deb822 "$codename" <"$file")
  done
  mapfile -t files < <(find "$sources/sources.list" "$sources/sources.list.d" -maxdepth 1 -name '*.list' 2>/dev/null | sort)
  for file in "${files[@]}"; do
    [[ -n $found ]] || found=$(archive_of_one_line_form "$codename" <"$file")
  done
  if [[ -n $found ]]; then printf '%s\n' "$found"; fi
}

# The first enabled stanza that names the suite itself, not its updates or its security suite.
archive_of_deb822() {
  awk -v suite="$1" '
    function flush() {
      if (uris != "" && enabled != "no" && index(" " suites " ", " " suite " ")) {
        print "URIs: " uris
        if (signed != "") print "Signed-By:" signed
        done = 1
        exit
      }
      uris = suites = signed = field = ""
      enabled = "yes"
    }
    BEGIN { enabled = "yes" }
    /^[ \t]*$/ { flush(); next }
    /^#/ { next }
    /^[ \t]/ { if (field == "signed-by") signed = signed "\n" $0; next }
    {
      field = tolower($0); sub(/:.*/, "", field)
      value = $0; sub(/^[^:]*:[ \t]*/, "", value)
      if (field == "uris") uris = value
      if (field == "suites") suites = value
      if (field == "enabled") enabled = tolower(value)
      if (field == "signed-by") signed = (value == "" ? "" : " " value)
    }
    END { if (!done) flush() }'
}

# deb [options] URI suite component...
archive_of_one_line_form() {
  awk -v suite="$1" '
    $1 == "deb" {
      line = $0; signed = ""
      if (match(line, /\[[^]]*\]/)) {
        options = substr(line, RSTART + 1, RLENGTH - 2)
        line = substr(line, 1, RSTART - 1) substr(line, RSTART + RLENGTH)
        if (match(options, /signed-by=[^ ]+/)) signed = substr(options, RSTART + 10, RLENGTH - 10)
      }
      split(line, part, /[ \t]+/)
      if (part[3] == suite) {
        print "URIs: " part[2]
        if (signed != "") print "Signed-By: " signed
        exit
      }
    }'
}

# add_backports: gives this Debian machine its release's backports, from the archive it already uses. No package
# comes from there unless it is asked for by name (the archive marks the suite NotAutomatic).
add_backports() {
  local codename archive
  codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  archive=$(debian_archive "$codename")
  if [[ -z $archive ]]; then
    echo "Catch2 3 is needed, and this machine's apt sources have no entry for the suite '$codename' to derive" >&2
    echo "$codename-backports from. Add that suite, or install Catch2 3 (CMake package Catch2)." >&2
    return 1
  fi
  printf 'Types: deb\nSuites: %s-backports\nComponents: main\n%s\n' "$codename" "$archive" |
    as_root tee "/etc/apt/sources.list.d/$codename-backports.sources" >/dev/null
  apt_get update
}

install_missing() {
  local -a plain=()
  local package release=""
  apt_get update
  for package in "${MISSING[@]}"; do
    [[ $package == catch2 ]] || plain+=("$package")
  done
  if ((${#plain[@]})); then apt_get install --no-install-recommends "${plain[@]}"; fi
  if [[ ${#plain[@]} -lt ${#MISSING[@]} ]]; then
    if ! catch2_is_new_enough "$(candidate_version catch2)"; then
      release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")-backports
      if ! catch2_is_new_enough "$(candidate_version catch2 "$release")"; then add_backports; fi
      if ! catch2_is_new_enough "$(candidate_version catch2 "$release")"; then
        echo "Neither this system's release nor $release offers Catch2 3: install it by hand (CMake package Catch2)." >&2
        return 1
      fi
    fi
    apt_get install --no-install-recommends ${release:+-t "$release"} catch2
  fi
}

# set_up_machine build|tests|lint: installs what that purpose lacks, and only that.
set_up_machine() {
  local purpose=$1
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    die "This script sets up Debian 12 and Ubuntu 24.04. Elsewhere install the packages of docs/building.md yourself," \
      "then: cmake --preset release && cmake --build --preset release && ctest --preset release"
  fi
  MISSING=()
  if [[ $purpose == lint ]]; then
    need clang-format-14 clang-format-14
    need clang-tidy-14 clang-tidy-14
    need shellcheck shellcheck
  fi
  need g++ g++
  need cmake cmake
  need ninja-build ninja
  need pkg-config pkg-config
  need git git
  need ca-certificates
  need libfmt-dev
  need nlohmann-json3-dev
  need libcli11-dev
  need libopenblas-dev
  need zlib1g-dev
  need dataset-fashion-mnist
  need nodejs node
  need npm npm
  need ccache ccache
  if [[ $purpose == tests ]]; then
    # Ubuntu's package chromium-browser only points to a snap: there the page's tests run if a Chromium is there already.
    if [[ $(. /etc/os-release && echo "$ID") != ubuntu ]]; then need chromium chromium; fi
    catch2_is_new_enough "$(installed_version catch2)" || MISSING+=(catch2)
  fi
  if ((${#MISSING[@]})); then
    step "Installing ${MISSING[*]}" install_missing
  else
    say "==> Packages: nothing is missing"
  fi
}

# --- build and tests -------------------------------------------------------------------------------------------

configure_build() {
  local -a options=(-B "$BUILD")
  # A compiled object is good for any clone of the same files.
  export CCACHE_BASEDIR=$ROOT CCACHE_NOHASHDIR=1
  # The tests need Catch2, which demo.sh does not install.
  if catch2_is_new_enough "$(installed_version catch2)"; then options+=(-DAMP_TESTS=ON); else options+=(-DAMP_TESTS=OFF); fi
  if [[ ${CI:-} == true ]]; then options+=(-DAMP_WERROR=ON); fi
  step "Configuring ($BUILD)" cmake --preset release "${options[@]}"
}

# build_targets TEXT TARGET...
build_targets() {
  local text=$1
  shift
  step "$text" cmake --build "$BUILD" --parallel "$(nproc)" --target "$@"
}

# summarize_tests CTEST_OUTPUT: prints "TOTAL FAILED SKIPPED", or nothing if ctest ran no test.
summarize_tests() {
  local totals skipped
  totals=$(sed -n 's/^[0-9]*% tests passed, \([0-9]*\) tests failed out of \([0-9]*\)$/\2 \1/p' "$1" | tail -n 1)
  skipped=$(grep -c '\*\*\*Skipped' "$1" || true)
  if [[ -n $totals ]]; then echo "$totals $skipped"; fi
}

# show_skipped JUNIT_FILE: each skipped test with the reason it printed.
show_skipped() {
  awk '
    /<testcase / { name = $0; sub(/.*<testcase name="/, "", name); sub(/" classname=.*/, "", name); skipped = 0; next_is_reason = 0; reason = "" }
    /<skipped / { skipped = 1 }
    /explicitly with message:/ { next_is_reason = 1; next }
    next_is_reason && NF { sub(/^ +/, ""); reason = $0; next_is_reason = 0 }
    /^( *|.*<system-out>)skipped: / && reason == "" { sub(/^.*skipped: /, ""); reason = $0 }
    /<\/testcase>/ { if (skipped) print "  " name (reason == "" ? "" : ": " reason) }' "$1"
}
