#!/usr/bin/env bash
# Tests what scripts/lib.sh works out from the machine: its Debian archive, from both forms of apt sources; the sums of
# a ctest run; the reasons of skipped tests; a step that fails. Needs no root and no network.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export AMP_LOG_DIR=$work/log
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"
set +e

failures=0
expect() {  # expect NAME GOT WANTED
  if [[ $2 == "$3" ]]; then return; fi
  printf 'FAILED: %s\n  got:    %s\n  wanted: %s\n' "$1" "${2//$'\n'/\\n}" "${3//$'\n'/\\n}"
  failures=$((failures + 1))
}

new_sources() {
  rm -rf "$work/apt"
  mkdir -p "$work/apt/sources.list.d"
}

new_sources
cat >"$work/apt/sources.list.d/debian.sources" <<'END'
Types: deb
# a comment
URIs: http://security.example/debian-security
Suites: bookworm-security
Components: main
Signed-By: /keys/security.gpg

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: bookworm

Types: deb
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /keys/debian.gpg
END
expect "deb822" "$(debian_archive bookworm "$work/apt")" $'URIs: http://mirror.example/debian\nSigned-By: /keys/debian.gpg'
expect "deb822 without the suite" "$(debian_archive trixie "$work/apt")" ""

new_sources
cat >"$work/apt/sources.list.d/inline.sources" <<'END'
Types: deb
URIs: http://mirror.example/debian
Suites: bookworm
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 abc
 -----END PGP PUBLIC KEY BLOCK-----
END
expect "deb822 with the key inside" "$(debian_archive bookworm "$work/apt")" $'URIs: http://mirror.example/debian\nSigned-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n -----END PGP PUBLIC KEY BLOCK-----'

new_sources
cat >"$work/apt/sources.list" <<'END'
# deb http://comment.example/debian bookworm main
deb-src http://source.example/debian bookworm main
deb http://security.example/debian-security bookworm-security main
deb [arch=amd64 signed-by=/keys/debian.gpg] http://mirror.example/debian bookworm main
END
expect "one-line form" "$(debian_archive bookworm "$work/apt")" $'URIs: http://mirror.example/debian\nSigned-By: /keys/debian.gpg'

new_sources
echo 'deb http://mirror.example/debian/ bookworm main' >"$work/apt/sources.list"
expect "one-line form without options" "$(debian_archive bookworm "$work/apt")" "URIs: http://mirror.example/debian/"

# A machine with both forms, the suite being in the older one.
new_sources
printf 'Types: deb\nURIs: http://other.example/x\nSuites: stable\nComponents: main\n' >"$work/apt/sources.list.d/other.sources"
echo 'deb http://mirror.example/debian bookworm main' >"$work/apt/sources.list"
expect "both forms" "$(debian_archive bookworm "$work/apt")" "URIs: http://mirror.example/debian"

new_sources
expect "no sources" "$(debian_archive bookworm "$work/apt")" ""

catch2_is_new_enough "2.13.10-1" && expect "Catch2 2" yes no
catch2_is_new_enough "3.4.0-1build2" || expect "Catch2 3" no yes
catch2_is_new_enough "" && expect "no Catch2" yes no

cat >"$work/ctest" <<'END'
 3/4 Test #3: page ......***Skipped   0.01 sec
 4/4 Test #4: bad .......***Failed    0.01 sec
50% tests passed, 1 tests failed out of 4
END
expect "sums" "$(summarize_tests "$work/ctest")" "4 1 1"
echo "No tests were found!!!" >"$work/ctest"
expect "sums of nothing" "$(summarize_tests "$work/ctest")" ""

cat >"$work/junit" <<'END'
	<testcase name="runs" classname="runs" time="0.1" status="run">
		<system-out>explicitly with message:
  not this one
</system-out>
	</testcase>
	<testcase name="page" classname="page" time="0.1" status="notrun">
		<skipped message="SKIP_RETURN_CODE=77"/>
		<system-out>skipped: no Chromium
</system-out>
	</testcase>
	<testcase name="catch" classname="catch" time="0.1" status="notrun">
		<skipped message="SKIP_RETURN_CODE=4"/>
		<system-out>x.cpp:3: SKIPPED:
explicitly with message:
  no data set
</system-out>
	</testcase>
END
expect "reasons" "$(show_skipped "$work/junit")" $'  page: no Chromium\n  catch: no data set'

# shellcheck disable=SC2317  # called by step
fails_inside() {
  echo "the reason"
  false
  echo "not reached"
}
expect "a step that fails" "$( (step "Trying" fails_inside) 2>&1 | grep -c -e '^the reason$' -e '^not reached$' -e 'The step "Trying" failed')" 2
(step "Trying" fails_inside) >/dev/null 2>&1
expect "its exit code" $? 1
(step "Trying" true) >/dev/null
expect "a step that works" $? 0

((failures == 0)) && echo "all of lib_test.sh holds"
exit $((failures > 0))
