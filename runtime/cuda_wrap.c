/* SPDX-License-Identifier: MIT */

/* Streams that the caller owns. Built without CUDA too: then no device of that
 * kind can be reached, which is the answer. */

#include "stream.h"

#include <assert.h>
#include <kolk/cuda.h>

/* cudaStreamLegacy, the other name of the NULL stream. */
static cudaStream_t without_alias(cudaStream_t stream)
{
    return (uintptr_t)stream == 1 ? NULL : stream;
}

kolk_status kolk_stream_wrap(int device, cudaStream_t stream, kolk_stream **out)
{
    assert(out != NULL);
    return kolk_stream_wrap_native(kolk_cuda(device), without_alias(stream), out);
}

cudaStream_t kolk_stream_cuda(const kolk_stream *stream)
{
    assert(stream != NULL);
    return stream->device.kind == KOLK_CUDA ? stream->native : NULL;
}
