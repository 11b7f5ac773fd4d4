/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TRAIN_FAILURE_H
#define KOLK_TRAIN_FAILURE_H

/* What went wrong, in one sentence. Failures of the library carry theirs in
 * kolk_last_error(); those that the program finds itself are noted here, and
 * train_failure() gives whichever belongs to the failure at hand. */

#include <kolk/status.h>

/* Notes the sentence and returns `status`, so that a failing path is one line. */
KOLK_NODISCARD kolk_status train_fail(kolk_status status, const char *format, ...)
    KOLK_PRINTF(2, 3);

/* The program's own sentence since the last call, else the library's. */
const char *train_failure(void);

#endif
