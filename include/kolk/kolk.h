/* SPDX-License-Identifier: MIT */
#ifndef KOLK_KOLK_H
#define KOLK_KOLK_H

/** @file
 * Everything but kolk/cuda.h, which needs the CUDA toolkit's headers.
 */

#include <kolk/ops.h>
#include <kolk/stats.h>
#include <kolk/tensor.h>

#endif
