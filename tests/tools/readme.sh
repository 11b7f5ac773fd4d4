#!/bin/sh
# SPDX-License-Identifier: MIT
# The program printed in README.md compiles as it stands, runs, and shows what the
# text below it claims. readme.sh README INCLUDE LIBRARY COMPILER...
set -eu

readme=$1
include=$2
library=$(realpath "$3")
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

awk '/^```c$/ { inside = 1; next } /^```$/ { if (inside) exit } inside' "$readme" >"$work/thirty.c"
lines=$(grep -c . "$work/thirty.c")
[ "$lines" -ge 25 ] && [ "$lines" -le 40 ] || { echo "the program has $lines lines" >&2; exit 1; }

"$@" -std=c17 -Wall -Wextra -Werror -I"$include" "$work/thirty.c" "$library" \
    -Wl,-rpath,"$(dirname "$library")" -o "$work/thirty"
cd "$work"
./thirty >out
cat out

expect() { [ "$1" = "$2" ] || { echo "$3: $1, not $2" >&2; exit 1; }; }
expect "$(grep -c '^step' out)" 10 'steps printed'
expect "$(sed 's/.*scratch at \([^,]*\),.*/\1/' out | sort -u | wc -l)" 1 'addresses of the scratch block'
expect "$(sed -n '2,$s/.*, \([0-9]*\) driver calls/\1/p' out | sort -u | wc -l)" 1 'counts of driver calls after the first step'
[ -s thirty.kolk ]
