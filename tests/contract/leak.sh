#!/bin/sh
# SPDX-License-Identifier: MIT
#
# leak.sh PROGRAM: Valgrind sees a lost record, and only that. Any kind of leak will
# do: what an allocator remembers of its memory may point to it.

watch() {
    valgrind --leak-check=full --show-leak-kinds=all --errors-for-leak-kinds=all \
        --error-exitcode=3 "$@" 2>&1
}

command -v valgrind >/dev/null || exit 77
watch "$1" || exit 1
said=$(watch "$1" lost)
result=$?
echo "$said"
[ $result -eq 3 ] && echo "$said" | grep -q 'in use at exit: 4,321 bytes in 1 blocks'
