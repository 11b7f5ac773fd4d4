/* SPDX-License-Identifier: MIT */
#include "places.h"

#include "suite.h"

#include <kolk/stats.h>

typedef struct row {
    kolk_device device;
    const train_gemm *gemm;
} row;

static const row rows[] = {
#ifndef KOLK_TESTS_ON_GPU
    {{KOLK_HOST, 0}, &train_gemm_host},
#endif
#ifdef TRAIN_HAVE_CUBLAS
    {{KOLK_CUDA, 0}, &train_gemm_cuda},
#endif
};

#if defined(TRAIN_HAVE_CUBLAS) && !defined(KOLK_TESTS_ON_GPU)
#include "emulator.h"

static void reset_emulated(void)
{
    emu_reset(NULL);
}

void places_check_emulated(void)
{
    emu_objects objects = emu_objects_now();
    objects.events = 0;
    ck_assert(emu_objects_equal(objects, (emu_objects){0}));
    ck_assert_uint_eq(emu_violations(), 0);
}
#else
static void reset_emulated(void)
{
}

void places_check_emulated(void)
{
}
#endif

int places_count(void)
{
#ifdef KOLK_TESTS_ON_GPU
    if (kolk_device_count(KOLK_CUDA) == 0)
        return 0;
#endif
    return sizeof rows / sizeof *rows;
}

int places_run_suite(Suite *suite)
{
#ifdef KOLK_TESTS_ON_GPU
    return kolk_run_suite_unforked(suite);
#else
    return kolk_run_suite(suite);
#endif
}

void places_open(int index, train_place *out)
{
    reset_emulated();
    ck_assert_ok(train_place_open(rows[index].device, rows[index].gemm, out));
}

void places_close(train_place *place)
{
    ck_assert_ok(kolk_pool_check(place->memory.pool));
    train_place_close(place);
    places_check_emulated();
}
