/* SPDX-License-Identifier: MIT */

/* What the types must forbid. As it stands this file compiles; with one of the
 * names below defined it must not, and the compiler must say why. */

#include <kolk/kolk.h>

kolk_status use(kolk_pool *pool, kolk_stream *stream, kolk_tensor **a, kolk_tensor **b,
                kolk_block **block);

kolk_status use(kolk_pool *pool, kolk_stream *stream, kolk_tensor **a, kolk_tensor **b,
                kolk_block **block)
{
    (void)stream;
#ifdef COPY_A_TENSOR
    **a = **b;
#endif
#ifdef COPY_A_BLOCK
    **block = **block;
#endif
#ifdef TENSOR_ON_THE_STACK
    kolk_tensor tensor;
    (void)tensor;
#endif
#ifdef POOL_ON_THE_STACK
    kolk_pool other = *pool;
    (void)other;
#endif
#ifdef MEASURE_A_TENSOR
    (void)sizeof(**a);
#endif
#ifdef IGNORE_A_STATUS
    kolk_pool_create(kolk_host(), NULL, &pool);
#endif
#ifdef IGNORE_A_TAKE
    kolk_tensor_take(a);
#endif
#ifdef SWAP_HANDLES
    KOLK_TRY(kolk_block_alloc((kolk_pool *)pool, 64, pool, block));
#endif
#ifdef SWAP_DESTROY
    kolk_tensor_destroy(block);
#endif
#ifdef NULL_FOR_OUT
    KOLK_TRY(kolk_pool_create(kolk_host(), NULL, NULL));
#endif
    *b = kolk_tensor_take(a);
    KOLK_TRY(kolk_block_alloc(pool, 64, stream, block));
    return kolk_pool_create(kolk_host(), NULL, &pool);
}
