/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TRAIN_PLACE_H
#define KOLK_TRAIN_PLACE_H

/* Where training happens: a device, its memory and its BLAS. */

#include "gemm.h"

typedef struct train_place {
    kolk_device device;
    train_memory memory;
    const train_gemm *gemm;
    void *blas; /* the state of `gemm` */
} train_place;

typedef enum train_choice { TRAIN_AUTO, TRAIN_HOST, TRAIN_CUDA } train_choice;

/* AUTO takes CUDA when there is a device and a cuBLAS for it, else the host. */
KOLK_NODISCARD kolk_status train_place_choose(train_choice choice, train_place *out);

KOLK_NODISCARD kolk_status train_place_open(kolk_device device, const train_gemm *gemm,
                                            train_place *out);

/* Everything made there must be gone. Fine for one that is all zeros, too. */
void train_place_close(train_place *place);

#endif
