#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the pair benchmark and counts its instructions: pair.sh PROGRAM [--json].
# Instructions are the difference between two runs of callgrind, so that starting
# up does not count; those of the emulated CUDA runtime are shown apart.
set -eu

program=$1
format=${2:-table}
few=1000
many=3000
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# instructions NAME COUNT: all, and those in the emulator and its locks.
instructions() {
    valgrind --tool=callgrind --callgrind-out-file="$work/out" \
        "$program" --only "$1" "$2" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
    callgrind_annotate --threshold=100 --auto=no "$work/out" | awk '
        / PROGRAM TOTALS/ { gsub(",", "", $1); all = $1 }
        /support\/emulator|pthread_mutex/ { gsub(",", "", $1); runtime += $1 }
        END { print all, runtime + 0 }'
}

per_pair() {
    set -- $(instructions "$1" $few) $(instructions "$1" $many)
    echo $((($3 - $1 - ($4 - $2)) / (many - few))) $((($4 - $2) / (many - few)))
}

"$program" >"$work/table"
while read -r name nanoseconds calls; do
    counted='- -'
    if command -v valgrind >/dev/null; then counted=$(per_pair "$name"); fi
    echo "$name $nanoseconds $calls $counted"
done <"$work/table" >"$work/all"

if [ "$format" = --json ]; then
    awk 'BEGIN { printf "{\"schema\":\"kolk-bench-pair/1\",\"size\":65536,\"rows\":[" }
        { gsub("-", "null", $4); gsub("-", "null", $5)
          printf "%s{\"name\":\"%s\",\"ns\":%s,\"driver_calls\":%s,\"instructions\":%s,\"runtime_instructions\":%s}", (NR > 1 ? "," : ""), $1, $2, $3, $4, $5 }
        END { print "]}" }' "$work/all"
else
    echo '64 KiB, cached, allocated and freed on one stream; per pair:'
    awk 'BEGIN { printf "%-14s %8s %14s %14s %20s\n", "", "ns", "instructions", "driver calls", "emulator instr." }
        { printf "%-14s %8.1f %14s %14.2f %20s\n", $1, $2, $4, $3, $5 }' "$work/all"
fi
