/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TRAIN_HOST_H
#define KOLK_TRAIN_HOST_H

/* Host memory for what the program sets up before it trains. Without it there
 * is nothing to clean up and nothing else to try: both say how much was wanted
 * and exit with 1. */

#include <kolk/base.h>

/* Zeroed; released by free(). */
KOLK_NODISCARD void *train_calloc(size_t count, size_t size);
KOLK_NODISCARD void *train_realloc(void *memory, size_t size);

#endif
