/* SPDX-License-Identifier: MIT */
#ifndef KOLK_RUNTIME_FAIL_H
#define KOLK_RUNTIME_FAIL_H

#include <kolk/status.h>

/* Records the failure for kolk_last_error() and returns `status`, so that the
 * failing path is one line: return kolk_fail(KOLK_UNSUPPORTED, "...").
 *
 * `where` is a static string. The sentence is cut where the record ends, at the
 * start of a UTF-8 character. A text inside the present record may be an
 * argument: the record changes only once the sentence is made. */
kolk_status kolk_fail_at(const char *where, kolk_status status, int native,
                         const char *format, ...) KOLK_PRINTF(4, 5);

#ifdef __clang_analyzer__ /* which sees one file at a time */
#define kolk_fail_at(where, status, ...) \
    (kolk_fail_at((where), (status), __VA_ARGS__), (status))
#endif

#define kolk_fail(status, ...) kolk_fail_at(__func__, (status), 0, __VA_ARGS__)
#define kolk_fail_native(status, native, ...) \
    kolk_fail_at(__func__, (status), (native), __VA_ARGS__)

/* Puts back a record that was read before, so that a call which looks at a
 * failure itself, or cannot report one, leaves none behind. */
void kolk_error_restore(const kolk_error *record);

#endif
