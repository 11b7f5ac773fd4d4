#!/bin/sh
# SPDX-License-Identifier: MIT
#
# leak.sh LOST PROGRAM: Valgrind finds nothing left of the library when the program
# ends well, and LOST when it is told to lose something. Any kind of leak will do:
# what an allocator remembers of its memory may point to it.

watch() {
    valgrind --leak-check=full --show-leak-kinds=all --errors-for-leak-kinds=all \
        --error-exitcode=3 "$@" 2>&1
}

command -v valgrind >/dev/null || exit 77
watch "$2" || exit 1
said=$(watch "$2" lost)
result=$?
echo "$said"
[ $result -eq 3 ] && echo "$said" | grep -q "in use at exit: .*$1"
