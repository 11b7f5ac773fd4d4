/* SPDX-License-Identifier: MIT */

/* The pool's check of itself finds what is wrong: structures are damaged one
 * field at a time, behind the pool's back, and repaired again. */

#include "core.h"
#include "heap.h"
#include "image.h"
#include "pool_rig.h"
#include <string.h>

/* A pool with a live block, a binned one, and free ones of both areas. */
struct rig {
    kolk_pool *pool;
    kolk_block *small, *large, *binned;
    kolk_cache *cache;
};

static void set_up(struct rig *rig, int variant)
{
    rig->pool = new_pool(variant, (kolk_pool_config){0});
    rig->small = new_block(rig->pool, 1000, NULL);
    rig->large = new_block(rig->pool, 3 * MIB, NULL);
    kolk_block *freed = new_block(rig->pool, 5 * MIB, NULL);
    kolk_block_free(&freed);
    rig->binned = freed = new_block(rig->pool, 5000, NULL);
    kolk_block_free(&freed);
    rig->cache = rig->pool->caches[0];
    ck_assert_ok(kolk_pool_check(rig->pool));
}

static void tear_down(struct rig *rig)
{
    ck_assert_ok(kolk_pool_check(rig->pool));
    kolk_block_free(&rig->small);
    kolk_block_free(&rig->large);
    drop_pool(&rig->pool);
}

/* With `field` set to `value` the check fails and says `text`. */
#define damaged(rig, field, value, text)                            \
    do {                                                            \
        const __typeof__(field) good_ = (field);                    \
        (field) = (value);                                          \
        ck_assert_fails(kolk_pool_check((rig).pool), KOLK_CORRUPT); \
        ck_assert_message(text);                                    \
        (field) = good_;                                            \
        ck_assert_ok(kolk_pool_check((rig).pool));                  \
    } while (0)

START_TEST(a_damaged_block_is_found)
{
    struct rig rig;
    set_up(&rig, _i);
    damaged(rig, rig.small->address, rig.small->address + 256, "does not begin");
    damaged(rig, rig.small->units, 0, "does not begin");
    damaged(rig, rig.small->prev, rig.large, "does not begin");
    damaged(rig, rig.small->slack, 1 << 20, "more slack than size");
    damaged(rig, rig.small->area, KOLK_AREA_LARGE, "wrong area");
    kolk_block_set_cache(rig.small, NULL);
    ck_assert_fails(kolk_pool_check(rig.pool), KOLK_CORRUPT);
    ck_assert_message("of no stream");
    kolk_block_set_cache(rig.small, rig.cache);
    kolk_block_set_state(rig.small, KOLK_STATE_UNUSED);
    ck_assert_fails(kolk_pool_check(rig.pool), KOLK_CORRUPT);
    ck_assert_message("not in use");
    kolk_block_set_state(rig.small, KOLK_STATE_LIVE);
    tear_down(&rig);
}
END_TEST

START_TEST(a_damaged_bin_is_found)
{
    struct rig rig;
    set_up(&rig, _i);
    kolk_bin *const bin = &rig.cache->bins[rig.binned->class];
    ck_assert_ptr_eq(bin->top, rig.binned);
    damaged(rig, bin->count, 2, "counts 2 blocks and holds 1");
    damaged(rig, bin->top, rig.small, "in a bin it does not belong to");
    damaged(rig, rig.cache->binned, 1, "bins count 1 bytes");
    tear_down(&rig);
}
END_TEST

static kolk_index *index_in_use(struct rig *rig)
{
    for (int area = 0; area < KOLK_AREA_COUNT; area++) {
        if (rig->cache->index[area].bytes)
            return &rig->cache->index[area];
        if (rig->pool->heap.clean[area].bytes)
            return &rig->pool->heap.clean[area];
    }
    return NULL;
}

static bool keep_first(kolk_block *block, void *context)
{
    *(kolk_block **)context = block;
    return false;
}

START_TEST(a_damaged_index_is_found)
{
    struct rig rig;
    kolk_block *listed = NULL;
    set_up(&rig, _i);
    kolk_index *const index = index_in_use(&rig);
    ck_assert_ptr_nonnull(index);
    damaged(rig, index->bytes, index->bytes + 1, "an index counts");
    kolk_index_walk(index, 1, keep_first, &listed);
    kolk_block_set_state(listed, KOLK_STATE_BUSY);
    ck_assert_int_eq(kolk_pool_check(rig.pool), KOLK_CORRUPT);
    kolk_block_set_state(listed, KOLK_STATE_FREE);
    tear_down(&rig);
}
END_TEST

START_TEST(a_damaged_count_is_found)
{
    struct rig rig;
    set_up(&rig, _i);
    kolk_heap *const heap = &rig.pool->heap;
    kolk_counters *const counters = &rig.pool->counters;
    damaged(rig, counters->requested.current, 1, "requested bytes");
    damaged(rig, counters->tags[0].current, 1, "tagged bytes");
    damaged(rig, counters->allocated.current, 1, "allocated bytes");
    damaged(rig, counters->active.current, 1, "active bytes");
    damaged(rig, counters->blocks.current, 9, "live blocks");
    damaged(rig, counters->segments.current, 9, "segments");
    damaged(rig, counters->reserved.current, 1, "reserved bytes");
    damaged(rig, heap->reserved, heap->reserved + 1, "accounted bytes");
    damaged(rig, heap->address_space, 1, "address space");
    damaged(rig, heap->segments->mapped, 0, "other pages than it counts");
    damaged(rig, heap->segments->size, heap->segments->size + 256, "do not fill");
    tear_down(&rig);
}
END_TEST

/* Between the heap, which has cut it out, and the stream that counts it. */
START_TEST(a_block_on_its_way_to_a_caller_is_not_damage)
{
    struct rig rig;
    set_up(&rig, _i);
    kolk_heap *const heap = &rig.pool->heap;
    kolk_pool_image *image = NULL;
    ck_assert_ok(kolk_heap_prepare(heap));
    kolk_block *const taken =
        kolk_heap_take(heap, rig.cache, kolk_units_of(2 * MIB), KOLK_UNIT, true);
    ck_assert_ptr_nonnull(taken);
    ck_assert_ok(kolk_pool_check(rig.pool));
    ck_assert_ok(kolk_pool_image_take(rig.pool, &image));
    for (size_t i = 0; i < image->block_count; i++)
        if (image->blocks[i].address == taken->address)
            ck_assert_int_eq(image->blocks[i].state, KOLK_BLOCK_FREE);
    kolk_pool_image_destroy(&image);
    kolk_heap_give(heap, taken, rig.cache, kolk_cache_epoch(rig.cache));
    tear_down(&rig);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_damaged_block_is_found,
        a_damaged_bin_is_found,
        a_damaged_index_is_found,
        a_damaged_count_is_found,
        a_block_on_its_way_to_a_caller_is_not_damage,
    };
    return rows_run(
        variants_suite("pool corrupt", tests, sizeof tests / sizeof *tests));
}
