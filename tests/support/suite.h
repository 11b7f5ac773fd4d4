/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TESTS_SUITE_H
#define KOLK_TESTS_SUITE_H

/* What every test program shares: how it ends, and how it looks at a status. */

#include <check.h>
#include <kolk/status.h>

/* Runs and frees `suite`, prints Check's line and every failure. The result is
 * the program's: 0 all passed, 1 some failed, 77 (skipped) no test was there. */
int kolk_run_suite(Suite *suite);

/* The same, every test in this process: for devices that no fork survives. */
int kolk_run_suite_unforked(Suite *suite);

#define ck_assert_ok(call)                                                       \
    do {                                                                         \
        const kolk_status ck_status_ = (call);                                   \
        ck_assert_msg(ck_status_ == KOLK_OK, "%s is %s: %s", #call,              \
                      kolk_status_name(ck_status_), kolk_last_error()->message); \
    } while (0)

#define ck_assert_fails(call, expected)                                             \
    do {                                                                            \
        const kolk_status ck_status_ = (call);                                      \
        ck_assert_msg(ck_status_ == (expected), "%s is %s, not %s: %s", #call,      \
                      kolk_status_name(ck_status_), kolk_status_name(expected),     \
                      kolk_last_error()->message);                                  \
        ck_assert_msg(kolk_last_error()->status == (expected), "%s left no record", \
                      #call);                                                       \
    } while (0)

/* The last failure's sentence holds `text`. */
#define ck_assert_message(text)                                       \
    ck_assert_msg(strstr(kolk_last_error()->message, (text)) != NULL, \
                  "no \"%s\" in: %s", (text), kolk_last_error()->message)

#endif
