#!/usr/bin/env bash
# Training steps of the same models with libamp and with PyTorch's C++ library (Debian and Ubuntu: libtorch-dev), both
# in turns in one run, with the same number of threads:
#   1. float32, ours / PyTorch's (goal: at most 1.0 on each model, at most 0.8 on two), with both losses of step 10
#   2. libamp's fp16 and bf16 autocast / its own float32 (goal: at most 1.6)
#   3. peak resident memory, and how much of it came with the model and its training
# PyTorch's side gets the OpenMP build of OpenBLAS (libopenblas0-openmp) where it is installed, since its own threads are
# OpenMP's; with the pthreads build, two sets of threads get in each other's way, so there BLAS gets one thread.
# usage: bench/peer.sh [BUILD_DIR] [PAIRS] [THREADS]     BUILD_DIR configured with -DAMP_BENCH=ON; the environment
# variable PRECISIONS ("fp16 bf16") says what of 2 is measured
set -euo pipefail
build=${1:-build/release} pairs=${2:-7} threads=${3:-$(nproc)}
bin=$build/bin
if [[ ! -x $bin/train_step_libtorch ]]; then
  echo "$bin/train_step_libtorch is missing: install libtorch-dev and configure $build with -DAMP_BENCH=ON" >&2
  exit 1
fi
export AMP_NUM_THREADS=$threads OMP_NUM_THREADS=$threads OPENBLAS_NUM_THREADS=$threads
peer="env OPENBLAS_NUM_THREADS=1"
for folder in /usr/lib/*/openblas-openmp; do
  if [[ -d $folder ]]; then peer="env LD_LIBRARY_PATH=$folder"; fi
done
declare -A steps=([mlp]=200 [cnn]=30 [gpt]=10 [lstm]=10)
field() { grep -o "\"$2\": [0-9.]*" <<<"$1" | grep -o '[0-9.]*$'; }
ratio() { "$bin/in_turns" "$pairs" "$1" "$2" | grep -E 'us/step|ratio' | sed 's/^/    /'; }
echo "$threads threads, $pairs pairs; PyTorch's side: $peer"
for model in mlp cnn gpt lstm; do
  args="--model $model --steps ${steps[$model]} --warm-up 11"
  echo "== $model: A libamp, B PyTorch, float32"
  ratio "$bin/train_step $args" "$peer $bin/train_step_libtorch $args --threads $threads"
  ours=$("$bin/train_step" --model "$model" --steps 2 --warm-up 11)
  theirs=$($peer "$bin/train_step_libtorch" --model "$model" --steps 2 --warm-up 11 --threads "$threads")
  echo "    loss at step 10: $(field "$ours" loss_10) and $(field "$theirs" loss_10)"
  echo "    peak memory: $(field "$ours" peak_bytes) and $(field "$theirs" peak_bytes) bytes," \
    "of which by training $(field "$ours" peak_growth_bytes) and $(field "$theirs" peak_growth_bytes)"
  for precision in ${PRECISIONS-fp16 bf16}; do
    echo "== $model: A libamp $precision, B libamp float32"
    ratio "$bin/train_step $args --precision $precision" "$bin/train_step $args"
  done
done
