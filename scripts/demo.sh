#!/usr/bin/env bash
# The main job, from a fresh clone: installs what is missing, builds, trains a small CNN on Fashion-MNIST in fp16 under
# `ampprof run`, and says where the report is. Options are handed to the training program in place of the demo's own:
#   ./scripts/demo.sh [--model mlp --precision bf16 --steps 500 ...]
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

options=("$@")
if ((${#options[@]} == 0)); then
  options=(--model cnn --precision fp16 --steps 200 --device cpu)
fi

set_up_machine build
configure_build
build_targets "Building ampprof and the example" ampprof train_fashion_mnist

say "==> Training: ampprof run -- train_fashion_mnist ${options[*]}"
out=$ROOT/ampprof-out
for ((i = 1; ; ++i)); do
  [[ -e $out ]] || break
  out=$ROOT/ampprof-out-$i
done
rc=0
"$BUILD/bin/ampprof" run -o "$out" -- "$BUILD/bin/train_fashion_mnist" "${options[@]}" || rc=$?
((rc == 0)) || die "The training run ended with exit code $rc."

say
if [[ -e $out/report.html ]]; then
  say "==> The report: open $out/report.html in a browser (it needs no network)."
else
  say "==> The report: $out/report.txt (the page was not built, since npm is missing)."
fi
