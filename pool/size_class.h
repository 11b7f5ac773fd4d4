/* SPDX-License-Identifier: MIT */
#ifndef KOLK_POOL_SIZE_CLASS_H
#define KOLK_POOL_SIZE_CLASS_H

/* How many bytes a request takes.
 *
 * Memory is counted in units of 256 bytes, the alignment every pointer has.
 * Small requests, up to 1 MiB, are rounded up to a size class so that a freed
 * block fits the next request of about its size; large ones only to a unit.
 *
 * Up to 2 KiB the classes are the multiples of a unit: 8 of them. From there
 * every doubling (2^k, 2^(k+1)] is cut into 8 classes of 2^k/8 each: a request
 * n > 2^k is rounded up by less than 2^k/8 < n/8, which is the promised 12.5 %.
 * With k from 11 to 19 that makes 72 more, 80 in all.
 *
 * In units u = ceil(n/256): the first 8 classes are u = 1..8; for larger u let
 * k = floor(log2(u-1)), the doubling it lies in, k >= 3; then u is rounded up
 * to a multiple of 2^(k-3), and the class is 8*(k-2) + ceil(u / 2^(k-3)) - 9. */

#include <assert.h>
#include <kolk/base.h>

enum {
    KOLK_UNIT_SHIFT = 8,
    KOLK_UNIT = 1 << KOLK_UNIT_SHIFT,
    KOLK_SMALL_MAX = 1 << 20,
    KOLK_CLASS_COUNT = 80
};

/* Largest request whose size in units fits the 32 bits a block keeps for it. */
#define KOLK_SIZE_MAX ((size_t)UINT32_MAX << KOLK_UNIT_SHIFT)

/* Precondition: 0 < size <= KOLK_SIZE_MAX. */
static inline uint32_t kolk_units_of(size_t size)
{
    return (uint32_t)((size - 1) >> KOLK_UNIT_SHIFT) + 1;
}

static inline size_t kolk_bytes_of(uint32_t units)
{
    return (size_t)units << KOLK_UNIT_SHIFT;
}

/* Position of the highest set bit. */
static inline int kolk_log2(uint32_t x)
{
    assert(x != 0);
    return 31 - __builtin_clz(x);
}

/* The class that holds `units`, at most KOLK_SMALL_MAX / KOLK_UNIT of them. */
static inline int kolk_class_of(uint32_t units)
{
    assert(units >= 1 && units <= KOLK_SMALL_MAX / KOLK_UNIT);
    if (units <= 8)
        return (int)units - 1;
    const int k = kolk_log2(units - 1);
    return 8 * (k - 2) + (int)((units - 1) >> (k - 3)) - 8;
}

/* Units of a block of the class. */
static inline uint32_t kolk_class_units(int class)
{
    assert(class >= 0 && class < KOLK_CLASS_COUNT);
    if (class < 8)
        return (uint32_t) class + 1;
    return (uint32_t)(class % 8 + 9) << (class / 8 - 1);
}

#endif
