#!/bin/sh
# SPDX-License-Identifier: MIT
#
# refuses.sh PATTERN COMPILER ARGUMENT...: the compiler must fail, and one of its
# errors must match PATTERN; with PATTERN empty it must succeed in silence.

pattern=$1
shift
if said=$(LC_ALL=C "$@" 2>&1); then
    [ -z "$pattern" ] && [ -z "$said" ] && exit
    echo "compiled: $said"
    exit 1
fi
echo "$said"
[ -n "$pattern" ] && echo "$said" | grep -E 'error:' | grep -qE "$pattern"
