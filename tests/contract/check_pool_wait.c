/* SPDX-License-Identifier: MIT */

/* The ladder never waits for more than it needs (pytorch #171771). */

#include "pool_rig.h"
#include <kolk/cuda.h>

/* Freed on `owner`, while work on `user` still has it. */
static void leave_pending(kolk_pool *pool, size_t size, kolk_stream *owner,
                          kolk_stream *user)
{
    kolk_block *block = new_block(pool, size, owner);
    ck_assert_ok(kolk_block_record(block, user));
    use(block, user);
    kolk_block_free(&block);
}

/* The stream that never ends is the older one, and what it holds is too small. */
START_TEST(a_stream_that_never_ends_is_left_alone_when_another_serves)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){.limit = 12 * MIB});
    kolk_stream *never = new_stream(row_device(_i / 2));
    kolk_stream *soon = new_stream(row_device(_i / 2));
    kolk_stream *owner = new_stream(row_device(_i / 2));
    hold(never, true);
    leave_pending(pool, 2 * MIB, owner, never);
    leave_pending(pool, 10 * MIB, owner, soon);
    kolk_block *block = new_block(pool, 10 * MIB, owner);
    use(block, owner);
    ck_assert_ok(kolk_stream_synchronize(owner));
    hold(never, false);
    kolk_block_free(&block);
    kolk_stream_destroy(&owner);
    kolk_stream_destroy(&soon);
    kolk_stream_destroy(&never);
    drop_pool(&pool);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_stream_that_never_ends_is_left_alone_when_another_serves,
    };
    return rows_run(variants_suite("pool wait", tests, sizeof tests / sizeof *tests));
}
