/* SPDX-License-Identifier: MIT */
#include "failure.h"

#include <stdarg.h>
#include <stdio.h>

static char own[512];
static char told[512];

kolk_status train_fail(kolk_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(own, sizeof own, format, args);
    va_end(args);
    return status;
}

const char *train_failure(void)
{
    (void)snprintf(told, sizeof told, "%s", *own ? own : kolk_last_error()->message);
    *own = '\0';
    return told;
}
