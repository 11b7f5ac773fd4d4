/* SPDX-License-Identifier: MIT */
#ifndef KOLK_CUDA_H
#define KOLK_CUDA_H

/** @file
 * The one header that names CUDA types. It does not need the toolkit's headers:
 * the type below is theirs, said once more. In a library built without CUDA
 * both functions say UNSUPPORTED or NULL.
 */

#include <kolk/stream.h>

KOLK_BEGIN

typedef struct CUstream_st *cudaStream_t;

/**
 * Wraps a stream the caller owns. NULL (or cudaStreamLegacy) is the legacy
 * default stream. Destroy the wrapper before the cudaStream_t; wrapping the
 * same stream twice is fine, both name one stream.
 *
 * cudaStreamPerThread names another stream on every thread: wrap it once per
 * thread and use the wrapper on that thread only.
 */
KOLK_FALLIBLE kolk_stream_wrap(int device, cudaStream_t stream, kolk_stream **out)
    KOLK_NONNULL_AT(3);

/** The stream behind the handle, borrowed; NULL for a host stream. */
KOLK_API cudaStream_t kolk_stream_cuda(const kolk_stream *stream) KOLK_NONNULL;

KOLK_END

#endif
