/* SPDX-License-Identifier: MIT */

/* A host without memory for bookkeeping: each request refused in turn, and all
 * from one on. The pool says so, loses nothing, and works again afterwards. */

#include "pool_rig.h"
#include <runtime/host_memory.h>

enum { FEWEST = 5, BLOCKS = 30 };

static size_t countdown; /* requests until the one that is refused; 0: none */
static bool onward;      /* and all after it */
static bool refused;

void *__real_kolk_host_alloc(size_t size);
void *__wrap_kolk_host_alloc(size_t size);

void *__wrap_kolk_host_alloc(size_t size)
{
    if (countdown > 1 || !countdown) {
        countdown -= countdown > 1;
        return __real_kolk_host_alloc(size);
    }
    countdown = onward;
    refused = true;
    return NULL;
}

static void take(kolk_pool *pool, size_t size, kolk_stream *stream, kolk_block **out)
{
    const kolk_status status = kolk_block_alloc(pool, size, stream, out);
    ck_assert((status == KOLK_OK) == (*out != NULL));
    if (status != KOLK_OK && status != KOLK_OUT_OF_MEMORY)
        ck_assert_int_eq(status, KOLK_OUT_OF_HOST_MEMORY);
    if (*out)
        use(*out, stream);
}

/* Something of everything. What could not be had is left out. */
static void act(kolk_pool *pool, kolk_stream **streams)
{
    kolk_block *blocks[BLOCKS] = {NULL};
    for (size_t i = 0; i < BLOCKS; i++)
        take(pool, i % 3 ? 1 + i * 30000 : 4 * MIB / 3 + i, streams[i % 2], &blocks[i]);
    for (size_t i = 0; i < BLOCKS; i += 2)
        if (blocks[i] && i % 4 &&
            kolk_block_record(blocks[i], streams[1 - i % 2]) != KOLK_OK)
            ck_assert_int_eq(kolk_last_error()->status, KOLK_OUT_OF_HOST_MEMORY);
    for (size_t i = 0; i < BLOCKS; i += 2)
        kolk_block_free(&blocks[i]);
    for (size_t i = 0; i < BLOCKS; i += 2)
        take(pool, 3 * MIB + i, streams[1], &blocks[i]);
    for (size_t i = 0; i < BLOCKS; i++)
        if (i % 3)
            kolk_block_free(&blocks[i]);
        else
            kolk_block_free_on(&blocks[i], streams[1]);
    kolk_pool_trim(pool, 2 * MIB);
}

static bool survives(int variant, size_t k)
{
    kolk_pool *pool = new_pool(variant, (kolk_pool_config){.limit = 40 * MIB});
    kolk_stream *streams[2] = {new_stream(kolk_pool_device(pool)),
                               new_stream(kolk_pool_device(pool))};
    refused = false;
    countdown = k;
    act(pool, streams);
    countdown = 0;
    ck_assert_ok(kolk_pool_check(pool));
    kolk_block *block = new_block(pool, 100, streams[0]);
    kolk_block_free(&block);
    ck_assert_uint_eq(kolk_pool_stats_of(pool).allocated.current, 0);
    kolk_pool_trim(pool, 0);
    ck_assert_ok(kolk_pool_check(pool));
    kolk_pool_destroy(&pool);
    for (int i = 0; i < 2; i++)
        kolk_stream_destroy(&streams[i]);
    return refused;
}

static void refuse_each(int variant)
{
    size_t k = 1;
    while (survives(variant, k))
        k++;
    ck_assert_uint_gt(k, FEWEST);
}

START_TEST(one_request_for_host_memory_may_be_refused)
{
    onward = false;
    refuse_each(_i);
}
END_TEST

START_TEST(all_requests_for_host_memory_may_be_refused)
{
    onward = true;
    refuse_each(_i);
}
END_TEST

START_TEST(a_pool_is_made_whole_or_not_at_all)
{
    onward = false;
    for (size_t k = 1;; k++) {
        kolk_pool *pool = NULL;
        refused = false;
        countdown = k;
        const kolk_status status = kolk_pool_create(row_device(_i / 2), NULL, &pool);
        countdown = 0;
        ck_assert((status == KOLK_OK) == (pool != NULL));
        if (!refused)
            ck_assert_ok(status);
        kolk_pool_destroy(&pool);
        if (!refused)
            break;
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        one_request_for_host_memory_may_be_refused,
        all_requests_for_host_memory_may_be_refused,
        a_pool_is_made_whole_or_not_at_all,
    };
    return rows_run(variants_suite("pool memory", tests, sizeof tests / sizeof *tests));
}
