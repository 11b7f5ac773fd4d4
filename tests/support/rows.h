/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TESTS_ROWS_H
#define KOLK_TESTS_ROWS_H

/* The devices that a contract suite loops over: row 0 is the host, row n the
 * CUDA device n - 1. Where CUDA is built in there are the two devices of the
 * emulator; a suite that defines KOLK_TESTS_ON_GPU before this, linked with CUDA
 * itself, gets the devices of the machine instead, without the host. */

#include "suite.h"
#include <kolk/device.h>
#include <runtime/backend.h>
#if defined(KOLK_HAVE_CUDA) && !defined(KOLK_TESTS_ON_GPU)
#define KOLK_TESTS_EMULATED
#include "emulator.h"
#include <runtime/cuda_backend.h>
#endif

#define ROW_CAPACITY ((size_t)64 << 20) /* of the host and of emulated devices */

static inline kolk_device row_device(int row)
{
    return row == 0 ? kolk_host() : kolk_cuda(row - 1);
}

/* The rows to run: [begin, end). */
static inline int rows_begin(void)
{
#ifdef KOLK_TESTS_ON_GPU
    return 1;
#else
    return 0;
#endif
}

static inline int rows_end(void)
{
#if defined(KOLK_TESTS_ON_GPU)
    return 1 + kolk_device_count(KOLK_CUDA);
#elif defined(KOLK_TESTS_EMULATED)
    return 3;
#else
    return 1;
#endif
}

/* A new machine, empty; and proof that a test left nothing on it. */
static inline void rows_start(void)
{
    ck_assert_ok(kolk_host_set_capacity(ROW_CAPACITY));
#ifdef KOLK_TESTS_EMULATED
    emu_reset(&(emu_config){.devices = 2, .capacity = ROW_CAPACITY});
    kolk_backend_install(KOLK_CUDA, NULL);
#endif
}

static inline void rows_finish(void)
{
    size_t available;
    size_t total;
    ck_assert_ok(kolk_device_memory(kolk_host(), &available, &total));
    ck_assert_uint_eq(available, total);
#ifdef KOLK_TESTS_EMULATED
    kolk_cuda_event_drain();
    ck_assert(emu_objects_equal(emu_objects_now(), (emu_objects){0}));
    ck_assert_uint_eq(emu_violations(), 0);
#endif
}

#ifdef KOLK_TESTS_ON_GPU
#define rows_run kolk_run_suite_unforked
#else
#define rows_run kolk_run_suite
#endif

#endif
