/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TESTS_CORRUPT_H
#define KOLK_TESTS_CORRUPT_H

/* Snapshots as an enemy or a bad disk would leave them, and what is done with
 * them: everything that the tool does with a file. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct corrupt_text {
    char *data;
    size_t size;
} corrupt_text;

/* A copy of `text` with one to four things wrong, chosen by `*seed`, which moves
 * on. The data is to be freed. */
corrupt_text corrupt(const char *text, size_t size, uint64_t *seed);

/* Reads, checks and prints, for people and for machines, to `sink`. False: it was
 * refused, with a complaint that makes sense. */
bool corrupt_use(const char *text, size_t size, FILE *sink);

#endif
