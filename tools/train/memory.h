/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TRAIN_MEMORY_H
#define KOLK_TRAIN_MEMORY_H

/* The one place where the program's buffers come from: tensors of one pool,
 * for work on one stream.
 *
 * It also keeps count of what the same program would need without a pool. A
 * program that calls the device's allocator directly does not do so in the
 * midst of a step, where every call costs more than the work around it; it
 * takes all buffers of the step before, and frees all of them after. Each is
 * rounded up to the 512 bytes that device allocators align to. The naive peak is
 * therefore the sum of what is kept from step to step, plus the largest sum
 * over one step. It counts buffers, data and gradient apart, of the size that
 * was asked for. */

#include <kolk/tensor.h>

typedef struct train_memory {
    kolk_pool *pool;
    kolk_stream *stream;
    uint64_t kept; /* bytes of buffers made outside any step, rounded */
    uint64_t step; /* the same of the step under way */
    uint64_t largest_step;
    bool in_step;
} train_memory;

kolk_status train_memory_open(kolk_device device, train_memory *out);
void train_memory_close(train_memory *memory);

/* What is made between these two counts as the step's, and must be destroyed
 * by its end. */
void train_memory_step_begin(train_memory *memory);
void train_memory_step_end(train_memory *memory);

/* kolk_tensor_create(), or kolk_tensor_from_host() where there are `values`. */
KOLK_NODISCARD kolk_status train_memory_make(train_memory *memory,
                                             const kolk_tensor_spec *spec,
                                             const void *values, kolk_tensor **out);

uint64_t train_memory_naive_peak(const train_memory *memory);

#endif
