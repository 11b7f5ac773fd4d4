/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TRAIN_RANDOM_H
#define KOLK_TRAIN_RANDOM_H

/* Random numbers that are the same on every machine: a counter stepped by an
 * odd constant and scrambled by two multiplications (splitmix64: Steele, Lea
 * and Flood, "Fast Splittable Pseudorandom Number Generators", 2014). */

#include <stdint.h>

typedef struct train_random {
    uint64_t state;
} train_random;

static inline uint64_t train_random_next(train_random *random)
{
    random->state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t x = random->state;
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* A whole number in [0, bound). */
static inline int64_t train_random_below(train_random *random, int64_t bound)
{
    return (int64_t)(train_random_next(random) % (uint64_t)bound);
}

/* A number in [-1, 1). */
static inline double train_random_symmetric(train_random *random)
{
    return (double)(train_random_next(random) >> 11) * 0x1p-52 - 1.0;
}

#endif
