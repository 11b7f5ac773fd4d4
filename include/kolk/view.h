/* SPDX-License-Identifier: MIT */
#ifndef KOLK_VIEW_H
#define KOLK_VIEW_H

/** @file
 * A view is a tensor's address and geometry by value, without ownership. It
 * is what kernels take, and the only thing that is ever indexed.
 *
 *     kolk_view v = kolk_tensor_view(tensor);
 *     int64_t offset;
 *     KOLK_TRY(kolk_view_offset(&v, KOLK_AT(1, 0, 2), &offset));
 */

#include <kolk/device.h>

#ifdef __CUDACC__
#define KOLK_HD __host__ __device__
#else
#define KOLK_HD
#endif

KOLK_BEGIN

#define KOLK_MAX_RANK 8

/** 16-bit floats travel as their bits. */
typedef struct kolk_f16 {
    uint16_t bits;
} kolk_f16;
typedef struct kolk_bf16 {
    uint16_t bits;
} kolk_bf16;

/*      name  value  size  C type  text */
#define KOLK_DTYPE_LIST(X)           \
    X(F32, 0, 4, float, "f32")       \
    X(F64, 1, 8, double, "f64")      \
    X(F16, 2, 2, kolk_f16, "f16")    \
    X(BF16, 3, 2, kolk_bf16, "bf16") \
    X(I32, 4, 4, int32_t, "i32")     \
    X(I64, 5, 8, int64_t, "i64")     \
    X(U8, 6, 1, uint8_t, "u8")       \
    X(BOOL, 7, 1, bool, "bool")

typedef enum kolk_dtype {
#define X(name, value, size, type, text) KOLK_##name = value,
    KOLK_DTYPE_LIST(X)
#undef X
} kolk_dtype;

enum { KOLK_DTYPE_COUNT = KOLK_BOOL + 1 };

/** Plain data; copying it copies no memory. Strides count elements and may be
 * 0 or negative; unused entries are 0. */
typedef struct kolk_view {
    void *data; /**< address of the element whose index is all zeros */
    kolk_device device;
    kolk_dtype dtype;
    int rank;
    int64_t shape[KOLK_MAX_RANK];
    int64_t stride[KOLK_MAX_RANK];
} kolk_view;

/** Bytes of one element; 0 for an unknown type. */
KOLK_API size_t kolk_dtype_size(kolk_dtype dtype);
KOLK_API const char *kolk_dtype_name(kolk_dtype dtype);

/**
 * Row-major strides in elements and the number of elements of a shape.
 * OUT_OF_RANGE: rank above KOLK_MAX_RANK or negative, or a negative extent (says
 * which). SHAPE_OVERFLOW: a product of the stride chain, or the count, exceeds
 * INT64_MAX, also when another extent is 0. `stride` may be NULL.
 */
KOLK_FALLIBLE kolk_shape_strides(int rank, const int64_t *shape, int64_t *stride,
                                 int64_t *out_numel) KOLK_NONNULL_AT(4);

KOLK_API int64_t kolk_view_numel(const kolk_view *view) KOLK_NONNULL;

/** Whether the elements lie row-major without gaps. */
KOLK_API bool kolk_view_is_contiguous(const kolk_view *view) KOLK_NONNULL;

/**
 * Offset in elements of `index`, checked: INVALID_ARGUMENT says expected and
 * actual rank, OUT_OF_RANGE the first axis out of bounds, index and extent.
 */
KOLK_FALLIBLE kolk_view_offset(const kolk_view *view, const int64_t *index, int rank,
                               int64_t *out) KOLK_NONNULL_AT(1, 4);

/** As above with no checks, for loops whose bounds come from `shape`. */
KOLK_HD static inline int64_t kolk_view_offset_unchecked(const kolk_view *view,
                                                         const int64_t *index)
{
    int64_t offset = 0;
    for (int axis = 0; axis < view->rank; axis++)
        offset += index[axis] * view->stride[axis];
    return offset;
}

/** Elements [begin, end) of one axis, no copy. */
KOLK_FALLIBLE kolk_view_slice(const kolk_view *view, int axis, int64_t begin,
                              int64_t end, kolk_view *out) KOLK_NONNULL;

/** Swaps two axes, no copy. */
KOLK_FALLIBLE kolk_view_transpose(const kolk_view *view, int a, int b, kolk_view *out)
    KOLK_NONNULL;

/** The same elements under another shape, no copy: UNSUPPORTED if `view` is not
 * contiguous, SHAPE_MISMATCH says both element counts. */
KOLK_FALLIBLE kolk_view_reshape(const kolk_view *view, int rank, const int64_t *shape,
                                kolk_view *out) KOLK_NONNULL_AT(1, 4);

KOLK_END

#ifndef __cplusplus
/** dtype of a C expression; a type without one does not compile. */
/* clang-format off */
#define KOLK_DTYPE_OF(x)     \
    _Generic((x),            \
        float:     KOLK_F32, \
        double:    KOLK_F64, \
        kolk_f16:  KOLK_F16, \
        kolk_bf16: KOLK_BF16, \
        int32_t:   KOLK_I32, \
        int64_t:   KOLK_I64, \
        uint8_t:   KOLK_U8,  \
        bool:      KOLK_BOOL)
/* clang-format on */

/** An index and its length: `kolk_view_offset(&v, KOLK_AT(1, 2), &off)`. */
#define KOLK_AT(...)                  \
    ((const int64_t[]){__VA_ARGS__}), \
        (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))
#endif

#endif
