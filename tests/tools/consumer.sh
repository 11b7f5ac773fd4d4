#!/bin/sh
# SPDX-License-Identifier: MIT
#
# consumer.sh BUILD PREFIX LIBDIR PROGRAM.c COMPILER...: installs the library
# elsewhere; a program that knows pkg-config alone must compile, link and run, with
# the shared library and with the static one.

set -eu
build=$1 prefix=$2 libdir=$3 program=$4
shift 4

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
meson install -C "$build" --no-rebuild --quiet --destdir "$stage"
libraries=$stage$prefix/$libdir

kolk() {
    PKG_CONFIG_PATH=$libraries/pkgconfig \
        pkg-config --define-variable=prefix="$stage$prefix" "$@" kolk
}

say() {
    echo "consumer: $*"
}

kolk --modversion
# shellcheck disable=SC2046 # flags are words
"$@" $(kolk --cflags) -o "$stage/shared" "$program" $(kolk --libs)
LD_LIBRARY_PATH=$libraries "$stage/shared"
say "runs with the shared library"

rm "$libraries"/libkolk.so*
# shellcheck disable=SC2046
"$@" $(kolk --cflags) -o "$stage/static" "$program" $(kolk --static --libs)
"$stage/static"
say "runs with the static library"
