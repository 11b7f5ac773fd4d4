/* SPDX-License-Identifier: MIT */
#include "place.h"

#include "failure.h"

#include <stdio.h>

kolk_status train_place_open(kolk_device device, const train_gemm *gemm,
                             train_place *out)
{
    train_place place = {.device = device, .gemm = gemm};
    KOLK_TRY(train_memory_open(device, &place.memory));
    const kolk_status status = gemm->open(&place.memory, &place.blas);
    if (status == KOLK_OK)
        *out = place;
    else
        train_memory_close(&place.memory);
    return status;
}

static kolk_status open_host(train_place *out)
{
    return train_place_open(kolk_host(), &train_gemm_host, out);
}

static kolk_status open_cuda(train_place *out)
{
#ifdef TRAIN_HAVE_CUBLAS
    return train_place_open(kolk_cuda(0), &train_gemm_cuda, out);
#else
    (void)out;
    return train_fail(KOLK_UNSUPPORTED, "this kolk-train was built without CUDA");
#endif
}

static kolk_status open_best(train_place *out)
{
    if (kolk_device_count(KOLK_CUDA) == 0)
        return open_host(out);
    const kolk_status status = open_cuda(out);
    if (status != KOLK_UNSUPPORTED)
        return status;
    (void)fprintf(stderr, "kolk-train: %s; training on the host\n", train_failure());
    return open_host(out);
}

kolk_status train_place_choose(train_choice choice, train_place *out)
{
    switch (choice) {
    case TRAIN_HOST:
        return open_host(out);
    case TRAIN_CUDA:
        return open_cuda(out);
    case TRAIN_AUTO:
        break;
    }
    return open_best(out);
}

void train_place_close(train_place *place)
{
    if (place->gemm)
        place->gemm->close(place->blas);
    train_memory_close(&place->memory);
    *place = (train_place){0};
}
