/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "../support/suite.h"
#include <pthread.h>
#include <runtime/fail.h>
#include <string.h>

static const struct {
    kolk_status status;
    int value;
    const char *name;
    const char *text;
} rows[] = {
#define X(name, value, text) {KOLK_##name, value, #name, text},
    KOLK_STATUS_LIST(X)
#undef X
};

enum { ROWS = sizeof rows / sizeof rows[0] };

START_TEST(every_status_has_its_name_and_text)
{
    ck_assert_int_eq(rows[_i].status, rows[_i].value);
    ck_assert_str_eq(kolk_status_name(rows[_i].status), rows[_i].name);
    ck_assert_str_eq(kolk_status_text(rows[_i].status), rows[_i].text);
}
END_TEST

START_TEST(an_unknown_status_has_a_name_and_a_text)
{
    ck_assert_str_eq(kolk_status_name((kolk_status)ROWS), "?");
    ck_assert_str_eq(kolk_status_name((kolk_status)-1), "?");
    ck_assert_ptr_nonnull(kolk_status_text((kolk_status)ROWS));
    ck_assert_uint_gt(strlen(kolk_status_text((kolk_status)ROWS)), 0);
}
END_TEST

START_TEST(a_failure_keeps_place_code_and_sentence)
{
    const kolk_status status =
        kolk_fail_at("somewhere", KOLK_OUT_OF_RANGE, 42, "%d is more than %d", 5, 3);
    ck_assert_int_eq(status, KOLK_OUT_OF_RANGE);
    ck_assert_int_eq(kolk_last_error()->status, KOLK_OUT_OF_RANGE);
    ck_assert_int_eq(kolk_last_error()->native, 42);
    ck_assert_str_eq(kolk_last_error()->where, "somewhere");
    ck_assert_str_eq(kolk_last_error()->message, "5 is more than 3");
}
END_TEST

START_TEST(the_short_form_names_the_function)
{
    ck_assert_int_eq(kolk_fail(KOLK_UNSUPPORTED, "no"), KOLK_UNSUPPORTED);
    ck_assert_str_eq(kolk_last_error()->where, __func__);
    ck_assert_int_eq(kolk_last_error()->native, 0);
}
END_TEST

START_TEST(a_long_sentence_is_cut_and_ends)
{
    char text[2 * sizeof kolk_last_error()->message];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    ck_assert_int_eq(kolk_fail(KOLK_IO, "%s", text), KOLK_IO);
    ck_assert_uint_eq(strlen(kolk_last_error()->message),
                      sizeof kolk_last_error()->message - 1);
}
END_TEST

static void *fail_elsewhere(void *argument)
{
    (void)argument;
    const bool clean = kolk_last_error()->status == KOLK_OK;
    const bool failed = kolk_fail(KOLK_IO, "elsewhere") == KOLK_IO;
    return clean && failed ? argument : NULL;
}

START_TEST(each_thread_has_a_record_of_its_own)
{
    pthread_t thread;
    int token;
    void *result;
    ck_assert_int_eq(kolk_fail(KOLK_CORRUPT, "here"), KOLK_CORRUPT);
    ck_assert_int_eq(pthread_create(&thread, NULL, fail_elsewhere, &token), 0);
    ck_assert_int_eq(pthread_join(thread, &result), 0);
    ck_assert_ptr_eq(result, &token);
    ck_assert_str_eq(kolk_last_error()->message, "here");
}
END_TEST

START_TEST(a_record_can_be_put_back)
{
    ck_assert_int_eq(kolk_fail_at("first", KOLK_IO, 5, "first"), KOLK_IO);
    const kolk_error before = *kolk_last_error();
    ck_assert_int_eq(kolk_fail(KOLK_CORRUPT, "second"), KOLK_CORRUPT);
    kolk_error_restore(&before);
    ck_assert_int_eq(kolk_last_error()->status, KOLK_IO);
    ck_assert_int_eq(kolk_last_error()->native, 5);
    ck_assert_str_eq(kolk_last_error()->where, "first");
    ck_assert_str_eq(kolk_last_error()->message, "first");
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("status");
    TCase *const core = tcase_create("core");
    tcase_add_loop_test(core, every_status_has_its_name_and_text, 0, ROWS);
    tcase_add_test(core, an_unknown_status_has_a_name_and_a_text);
    tcase_add_test(core, a_failure_keeps_place_code_and_sentence);
    tcase_add_test(core, the_short_form_names_the_function);
    tcase_add_test(core, a_long_sentence_is_cut_and_ends);
    tcase_add_test(core, each_thread_has_a_record_of_its_own);
    tcase_add_test(core, a_record_can_be_put_back);
    suite_add_tcase(suite, core);
    return kolk_run_suite(suite);
}
