/* SPDX-License-Identifier: MIT */

/* The index of free blocks against a plain list of them. */

#include "index.h"
#include "suite.h"
#include <stdlib.h>

enum { BLOCKS = 600, STEPS = 20000 };

struct rig {
    kolk_index index;
    kolk_block blocks[BLOCKS];
    bool held[BLOCKS];
    uint64_t seed;
};

static struct rig *rig;

static uint64_t draw(uint64_t below)
{
    rig->seed = rig->seed * UINT64_C(6364136223846793005) + 1442695040888963407U;
    return (rig->seed >> 33) % below;
}

static void set_up(void)
{
    rig = calloc(1, sizeof *rig);
    ck_assert_ptr_nonnull(rig);
    rig->seed = 1;
}

static void tear_down(void)
{
    free(rig);
}

static void insert(size_t i, uint32_t units, uintptr_t address)
{
    rig->blocks[i].units = units;
    rig->blocks[i].address = address;
    kolk_index_insert(&rig->index, &rig->blocks[i]);
    rig->held[i] = true;
}

static void toggle(size_t i)
{
    if (rig->held[i]) {
        kolk_index_remove(&rig->index, &rig->blocks[i]);
        rig->held[i] = false;
    } else {
        const uint64_t most = UINT64_C(1) << (1 + draw(31));
        insert(i, (uint32_t)draw(most) + 1, (uintptr_t)(draw(1 << 20) + 1) << 8);
    }
}

static bool any_fits(uint32_t units, size_t alignment)
{
    for (size_t i = 0; i < BLOCKS; i++)
        if (rig->held[i] && kolk_block_fits(&rig->blocks[i], units, alignment))
            return true;
    return false;
}

static uint64_t bytes_held(uint32_t *largest)
{
    uint64_t bytes = 0;
    *largest = 0;
    for (size_t i = 0; i < BLOCKS; i++) {
        if (!rig->held[i])
            continue;
        bytes += kolk_block_bytes(&rig->blocks[i]);
        if (rig->blocks[i].units > *largest)
            *largest = rig->blocks[i].units;
    }
    return bytes;
}

START_TEST(it_finds_a_block_whenever_one_fits)
{
    for (int step = 0; step < STEPS; step++) {
        toggle(draw(BLOCKS));
        const uint32_t units = (uint32_t)draw(UINT64_C(1) << (1 + draw(31))) + 1;
        const size_t alignment = (size_t)256 << draw(14);
        const kolk_block *const found =
            kolk_index_find(&rig->index, units, alignment, true);
        if (found)
            ck_assert(rig->held[found - rig->blocks] &&
                      kolk_block_fits(found, units, alignment));
        else
            ck_assert(!any_fits(units, alignment));
    }
}
END_TEST

START_TEST(it_knows_its_bytes_and_its_largest)
{
    uint32_t largest;
    for (int step = 0; step < STEPS / 10; step++) {
        toggle(draw(BLOCKS));
        ck_assert_uint_eq(rig->index.bytes, bytes_held(&largest));
        ck_assert_uint_eq(kolk_index_largest(&rig->index), largest);
    }
    for (size_t i = 0; i < BLOCKS; i++)
        if (rig->held[i])
            toggle(i);
    ck_assert_uint_eq(rig->index.bytes, 0);
    ck_assert_uint_eq(rig->index.rows, 0);
    ck_assert_ptr_null(kolk_index_find(&rig->index, 1, 256, true));
}
END_TEST

START_TEST(a_block_of_the_size_asked_for_comes_first)
{
    for (uint32_t i = 0; i < 100; i++)
        insert(i, 1000 + i * 1000, ((uintptr_t)i + 1) << 32);
    for (uint32_t i = 0; i < 100; i++)
        ck_assert_uint_eq(
            kolk_index_find(&rig->index, 1000 + i * 1000, 256, false)->units,
            1000 + i * 1000);
}
END_TEST

struct seen {
    size_t count;
    uint32_t least;
};

static bool take_out(kolk_block *block, void *context)
{
    struct seen *const seen = context;
    ck_assert_uint_ge(block->units, seen->least);
    kolk_index_remove(&rig->index, block);
    rig->held[block - rig->blocks] = false;
    return ++seen->count < 50;
}

START_TEST(a_walk_sees_large_ones_and_may_take_each_out)
{
    struct seen seen = {.least = 500};
    for (uint32_t i = 0; i < 100; i++)
        insert(i, 10 * i + 1, ((uintptr_t)i + 1) << 32);
    kolk_index_walk(&rig->index, seen.least, take_out, &seen);
    ck_assert_uint_eq(seen.count, 50); /* 501, 511, ... 991: it was told to stop */
    for (uint32_t i = 0; i < 100; i++)
        ck_assert(rig->held[i] == (10 * i + 1 < seen.least));
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("index");
    TCase *const tcase = tcase_create("index");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, it_finds_a_block_whenever_one_fits);
    tcase_add_test(tcase, it_knows_its_bytes_and_its_largest);
    tcase_add_test(tcase, a_block_of_the_size_asked_for_comes_first);
    tcase_add_test(tcase, a_walk_sees_large_ones_and_may_take_each_out);
    suite_add_tcase(suite, tcase);
    return kolk_run_suite(suite);
}
