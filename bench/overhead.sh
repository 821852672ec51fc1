#!/usr/bin/env bash
# What watching costs, as ratios of the median training step, both sides in one run:
#   1. instrumentation compiled in, no tool attached, against a build without it (goal: at most 1.01 on mlp)
#   2. under `ampprof run` with its defaults, against without (goal: at most 1.05 on cnn)
# usage: bench/overhead.sh [BUILD_DIR] [PAIRS]     BUILD_DIR configured with -DAMP_BENCH=ON
set -euo pipefail
build=${1:-build/release} pairs=${2:-11}
bin=$build/bin
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
echo "1. mlp, no tool attached / built without instrumentation"
"$bin/in_turns" "$pairs" "$bin/train_step --model mlp --steps 400" "$bin/train_step_unobserved --model mlp --steps 400"
echo "2. cnn fp16, ampprof run / alone"
"$bin/in_turns" "$pairs" "$bin/ampprof run -o $out/r --format json -- $bin/train_step --model cnn --precision fp16 --steps 60 2>/dev/null" \
  "$bin/train_step --model cnn --precision fp16 --steps 60"
