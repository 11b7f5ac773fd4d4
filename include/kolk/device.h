/* SPDX-License-Identifier: MIT */
#ifndef KOLK_DEVICE_H
#define KOLK_DEVICE_H

/** @file
 * Devices: where memory lives. There is one host device, always; CUDA devices
 * are counted from 0 as the driver counts them.
 *
 *     kolk_device device = kolk_device_count(KOLK_CUDA) ? kolk_cuda(0) : kolk_host();
 *     if (device.kind == KOLK_HOST)
 *         puts(kolk_device_reason(KOLK_CUDA)->message);
 *
 * Threads: every function here may be called from any thread. The caller's
 * current CUDA device is the same after every call, failed ones too.
 */

#include <kolk/status.h>

KOLK_BEGIN

typedef enum kolk_device_kind { KOLK_HOST = 0, KOLK_CUDA = 1 } kolk_device_kind;

/** A device, by value. All-zero is the host. */
typedef struct kolk_device {
    kolk_device_kind kind;
    int ordinal; /**< counts from 0 within the kind */
} kolk_device;

static inline kolk_device kolk_host(void)
{
    kolk_device device;
    device.kind = KOLK_HOST;
    device.ordinal = 0;
    return device;
}

static inline kolk_device kolk_cuda(int ordinal)
{
    kolk_device device;
    device.kind = KOLK_CUDA;
    device.ordinal = ordinal;
    return device;
}

static inline bool kolk_device_equal(kolk_device a, kolk_device b)
{
    return a.kind == b.kind && a.ordinal == b.ordinal;
}

/** What does not change about a device while the process lives. */
typedef struct kolk_device_info {
    char name[128];
    size_t total;     /**< bytes of memory */
    size_t page_size; /**< bytes the device maps at a time; 0: it cannot map pages */
    bool integrated;  /**< shares its memory with the host */
} kolk_device_info;

/** Number of usable devices; 0 when there is none, never an error. */
KOLK_API int kolk_device_count(kolk_device_kind kind);

/**
 * Why kolk_device_count() is 0: the native code and the backend's own text.
 * `status` is KOLK_OK when there is a device. Static storage, never NULL.
 */
KOLK_API const kolk_error *kolk_device_reason(kolk_device_kind kind);

/** Describes `device`. OUT_OF_RANGE names the ordinal and the count; with no
 * device at all, the reason above is the error. */
KOLK_FALLIBLE kolk_device_describe(kolk_device device, kolk_device_info *out)
    KOLK_NONNULL;

/** Bytes the driver reports free and in all, now. Slow: not for hot paths. */
KOLK_FALLIBLE kolk_device_memory(kolk_device device, size_t *out_free,
                                 size_t *out_total) KOLK_NONNULL;

/**
 * Bounds what pools may take from the host device, in bytes; 0 restores the
 * default, the machine's physical memory. OUT_OF_RANGE if more is in use.
 */
KOLK_FALLIBLE kolk_host_set_capacity(size_t capacity);

/** Bytes of host memory that the library holds for its own bookkeeping. */
KOLK_API size_t kolk_bookkeeping_size(void);

KOLK_END

#endif
