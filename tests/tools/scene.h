/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TESTS_SCENE_H
#define KOLK_TESTS_SCENE_H

/* A pool that has seen something, for whoever needs a real snapshot. */

#include <kolk/stats.h>

/* On the host, three streams, every tag, blocks of all sizes, half of them freed,
 * some on another stream than their own. One stream is destroyed half-way. Writes
 * the pool's snapshot to `path` and ends the pool. `rounds` of ten blocks each;
 * `no_pages` makes many segments instead of one. */
kolk_status scene_write(const char *path, int rounds, bool no_pages);

#endif
