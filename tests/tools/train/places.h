/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TESTS_TRAIN_PLACES_H
#define KOLK_TESTS_TRAIN_PLACES_H

/* Where tests train: on the host and, in a build with CUDA, on an emulated
 * device with a cuBLAS that queues CBLAS on the emulated streams. Programs that
 * define KOLK_TESTS_ON_GPU train on the first device of this machine instead. */

#include "place.h"

#include <check.h>

int places_count(void);

/* Runs the program's suite, without forks where CUDA could not follow. */
int places_run_suite(Suite *suite);

/* Checked: any failure fails the test. */
void places_open(int index, train_place *out);

/* And that the pool is sound, and nothing on the device is left over. */
void places_close(train_place *place);

/* Nothing is left on an emulated device but events, which the library keeps for
 * its next use of them, and nothing went wrong there. */
void places_check_emulated(void);

#endif
