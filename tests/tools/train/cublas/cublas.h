/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TESTS_CUBLAS_H
#define KOLK_TESTS_CUBLAS_H

/* A cuBLAS for the emulated device: the few calls that kolk-train makes, each
 * product a CBLAS one queued on the emulated stream. It stands in for the real
 * library under the real name, where the run-time linker looks first. */

/* Where a test finds it: dlsym(RTLD_DEFAULT) would not. The `nth` call from now
 * on (1: the next) fails with `status` and does nothing. */
#define EMULATED_CUBLAS_FAIL "emulated_cublas_fail"
typedef void (*emulated_cublas_fail_function)(int nth, int status);

/* Handles made and not yet destroyed. */
#define EMULATED_CUBLAS_HANDLES "emulated_cublas_handles"
typedef int (*emulated_cublas_handles_function)(void);

#endif
