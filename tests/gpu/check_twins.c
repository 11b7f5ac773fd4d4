/* SPDX-License-Identifier: MIT */

/* The contract, kept by the CUDA devices of this machine. */

#define KOLK_TESTS_ON_GPU
#include "../contract/check_twins.c"
