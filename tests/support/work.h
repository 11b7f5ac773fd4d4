/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TESTS_WORK_H
#define KOLK_TESTS_WORK_H

/* What contract tests do with streams, on any device. */

#include "suite.h"
#include <runtime/backend.h>

kolk_stream *new_stream(kolk_device device);
kolk_event *new_event(kolk_device device);

/* All `size` bytes at `data` are `byte`, as seen after the work on `stream`. */
void assert_bytes(kolk_stream *stream, const void *data, int byte, size_t size);

#endif
