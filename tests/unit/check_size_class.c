/* SPDX-License-Identifier: MIT */

/* The rounding of sizes: every size up to 4 MiB, and the edges beyond. */

#include "size_class.h"
#include "suite.h"

static size_t rounded(size_t size)
{
    const uint32_t units = kolk_units_of(size);
    return size > KOLK_SMALL_MAX
               ? kolk_bytes_of(units)
               : kolk_bytes_of(kolk_class_units(kolk_class_of(units)));
}

static bool wastes_too_much(size_t size)
{
    const size_t waste = rounded(size) - size;
    if (size <= 2048 || size > KOLK_SMALL_MAX)
        return waste > 511;
    return 8 * waste > size;
}

/* The first size in [from, to] that does not keep the promise, or 0. */
static size_t first_wasteful(size_t from, size_t to)
{
    for (size_t size = from; size <= to; size++)
        if (rounded(size) < size || wastes_too_much(size))
            return size;
    return 0;
}

START_TEST(every_small_size_wastes_an_eighth_or_511_bytes_at_most)
{
    ck_assert_uint_eq(first_wasteful(1, KOLK_SMALL_MAX), 0);
}
END_TEST

START_TEST(every_large_size_wastes_less_than_512_bytes)
{
    ck_assert_uint_eq(first_wasteful(KOLK_SMALL_MAX + 1, 8 * KOLK_SMALL_MAX), 0);
    for (int k = 23; k < 40; k++)
        ck_assert_uint_eq(
            first_wasteful(((size_t)1 << k) - 600, ((size_t)1 << k) + 600), 0);
}
END_TEST

START_TEST(classes_grow_and_each_is_its_own_class)
{
    for (int class = 0; class < KOLK_CLASS_COUNT; class ++) {
        const uint32_t units = kolk_class_units(class);
        ck_assert_int_eq(kolk_class_of(units), class);
        if (class == 0)
            continue;
        ck_assert_uint_lt(kolk_class_units(class - 1), units);
        ck_assert_int_eq(kolk_class_of(kolk_class_units(class - 1) + 1), class);
    }
    ck_assert_uint_eq(kolk_bytes_of(kolk_class_units(KOLK_CLASS_COUNT - 1)),
                      KOLK_SMALL_MAX);
}
END_TEST

/* rmm binning: 1 << 31 held in an int; here sizes go on to 2^40. */
START_TEST(the_largest_size_fits_32_bits_of_units)
{
    ck_assert_uint_eq(kolk_units_of(KOLK_SIZE_MAX), UINT32_MAX);
    ck_assert_uint_eq(kolk_bytes_of(UINT32_MAX), KOLK_SIZE_MAX);
    for (int k = 31; k < 40; k++)
        ck_assert_uint_eq(rounded((size_t)1 << k), (size_t)1 << k);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("size class");
    TCase *const tcase = tcase_create("rounding");
    tcase_add_test(tcase, every_small_size_wastes_an_eighth_or_511_bytes_at_most);
    tcase_add_test(tcase, every_large_size_wastes_less_than_512_bytes);
    tcase_add_test(tcase, classes_grow_and_each_is_its_own_class);
    tcase_add_test(tcase, the_largest_size_fits_32_bits_of_units);
    suite_add_tcase(suite, tcase);
    return kolk_run_suite(suite);
}
