/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "../../pool/json.h"
#include "../../pool/snapshot.h"
#include "../support/suite.h"
#include "file.h"
#include "scene.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char *folder;

static void open_folder(void)
{
    folder = folder_make();
}

static void close_folder(void)
{
    folder_remove(&folder);
}

static const kolk_pool_image empty_image = {.info = {.name = "a device"}};

/* The text that `write` makes. */
static char *json_of(void (*write)(kolk_json *json))
{
    kolk_json json;
    const char *const path = path_in(folder, "json");
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_ge(file, 0);
    kolk_json_init(&json, file);
    write(&json);
    ck_assert_int_eq(kolk_json_finish(&json), 0);
    ck_assert_int_eq(close(file), 0);
    return file_read(path, NULL);
}

static void write_nested(kolk_json *json)
{
    kolk_json_open(json, NULL, '{');
    kolk_json_bool(json, "a", true);
    kolk_json_open(json, "b", '[');
    kolk_json_line(json);
    kolk_json_number(json, NULL, 1);
    kolk_json_line(json);
    kolk_json_open(json, NULL, '[');
    kolk_json_close(json, ']');
    kolk_json_close(json, ']');
    kolk_json_address(json, "c", 0x7f00);
    kolk_json_close(json, '}');
    kolk_json_line(json);
}

START_TEST(commas_and_lines_come_where_they_belong)
{
    char *text KOLK_AUTO(text_free) = json_of(write_nested);
    ck_assert_str_eq(text, "{\"a\":true,\"b\":[\n1,\n[]],\"c\":\"0x7f00\"}\n");
}
END_TEST

static void write_numbers(kolk_json *json)
{
    kolk_json_open(json, NULL, '[');
    kolk_json_number(json, NULL, 0);
    kolk_json_number(json, NULL, INT64_MAX);
    kolk_json_number(json, NULL, (uint64_t)INT64_MAX + 1);
    kolk_json_number(json, NULL, UINT64_MAX);
    kolk_json_fraction(json, NULL, 0.25);
    kolk_json_fraction(json, NULL, 1);
    kolk_json_fraction(json, NULL, -3);
    kolk_json_close(json, ']');
}

START_TEST(numbers_are_exact)
{
    char *text KOLK_AUTO(text_free) = json_of(write_numbers);
    ck_assert_str_eq(text, "[0,9223372036854775807,\"9223372036854775808\","
                           "\"18446744073709551615\",0.250000000,1.000000000,"
                           "0.000000000]");
}
END_TEST

static const struct {
    const char *raw, *written;
} strings[] = {
    {"", "\"\""},
    {"plain", "\"plain\""},
    {"a\"b\\c", "\"a\\\"b\\\\c\""},
    {"\n\x1b[31m\x7f", "\"\\u000a\\u001b[31m\\u007f\""},
    {"\xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80",
     "\"\xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80\""},
    {"cut \xe2\x82", "\"cut \\ufffd\\ufffd\""},
    {"\xc0\x80", "\"\\ufffd\\ufffd\""},
    {"\xe0\x80\x80", "\"\\ufffd\\ufffd\\ufffd\""},
    {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""},
    {"\xf0\x80\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
    {"\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
    {"\xff", "\"\\ufffd\""},
};

static int string_row;

static void write_row(kolk_json *json)
{
    kolk_json_string(json, NULL, strings[string_row].raw);
}

START_TEST(strings_are_escaped_and_always_utf_8)
{
    string_row = _i;
    char *text KOLK_AUTO(text_free) = json_of(write_row);
    ck_assert_str_eq(text, strings[_i].written);
}
END_TEST

static void write_long(kolk_json *json)
{
    kolk_json_open(json, NULL, '[');
    for (uint64_t i = 0; i < 10000; i++)
        kolk_json_number(json, NULL, 1000000 + i);
    kolk_json_close(json, ']');
    ck_assert_uint_eq(kolk_json_size(json), 10000 * 8 + 1);
}

START_TEST(a_text_longer_than_the_buffer_is_whole)
{
    char *text KOLK_AUTO(text_free) = json_of(write_long);
    ck_assert_uint_eq(strlen(text), 10000 * 8 + 1);
    ck_assert_ptr_nonnull(strstr(text, ",1009999]"));
}
END_TEST

START_TEST(the_pool_writes_a_file_with_the_permissions_of_the_process)
{
    struct stat there;
    const char *const path = path_in(folder, "pool");
    (void)umask(027);
    ck_assert_ok(scene_write(path, 3, false));
    ck_assert_int_eq(stat(path_in(folder, "pool"), &there), 0);
    ck_assert_int_eq(there.st_mode & 0777, 0640);
    ck_assert_int_eq(folder_count(folder), 1);
}
END_TEST

START_TEST(a_later_snapshot_takes_the_place_of_an_earlier_one)
{
    file_write(path_in(folder, "pool"), "old");
    ck_assert_ok(kolk_pool_image_write(&empty_image, path_in(folder, "pool")));
    char *text KOLK_AUTO(text_free) = file_read(path_in(folder, "pool"), NULL);
    ck_assert_ptr_nonnull(strstr(text, "kolk-snapshot"));
    ck_assert_int_eq(folder_count(folder), 1);
}
END_TEST

static const struct {
    const char *path, *reason;
    int code;
} refused[] = {
    {"/nowhere/at/all", "/nowhere/at/all: No such file or directory", ENOENT},
    {"/", "/: Is a directory", EISDIR},
    {"", "No such file or directory", ENOENT},
    {"/dev/full", "/dev/full: No space left on device", ENOSPC},
};

START_TEST(a_path_that_cannot_be_written_names_itself_and_the_reason)
{
    ck_assert_fails(kolk_pool_image_write(&empty_image, refused[_i].path), KOLK_IO);
    ck_assert_message(refused[_i].reason);
    ck_assert_int_eq(kolk_last_error()->native, refused[_i].code);
}
END_TEST

START_TEST(a_name_that_is_too_long_is_refused)
{
    char path[5000];
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    ck_assert_fails(kolk_pool_image_write(&empty_image, path), KOLK_IO);
    ck_assert_int_eq(kolk_last_error()->native, ENAMETOOLONG);
}
END_TEST

START_TEST(a_file_that_cannot_be_finished_is_removed_and_the_old_one_kept)
{
    const struct rlimit small = {100, 100};
    file_write(path_in(folder, "pool"), "old");
    ck_assert(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    ck_assert_fails(kolk_pool_image_write(&empty_image, path_in(folder, "pool")),
                    KOLK_IO);
    ck_assert_message("File too large");
    char *text KOLK_AUTO(text_free) = file_read(path_in(folder, "pool"), NULL);
    ck_assert_str_eq(text, "old");
    ck_assert_int_eq(folder_count(folder), 1);
}
END_TEST

START_TEST(a_link_is_written_through)
{
    struct stat there;
    char target[4096];
    (void)snprintf(target, sizeof target, "%s", path_in(folder, "target"));
    file_write(target, "old");
    ck_assert_int_eq(symlink("target", path_in(folder, "link")), 0);
    ck_assert_ok(kolk_pool_image_write(&empty_image, path_in(folder, "link")));
    ck_assert_int_eq(lstat(path_in(folder, "link"), &there), 0);
    ck_assert(S_ISLNK(there.st_mode));
    char *text KOLK_AUTO(text_free) = file_read(target, NULL);
    ck_assert_ptr_nonnull(strstr(text, "kolk-snapshot"));
}
END_TEST

START_TEST(a_pipe_is_written_into)
{
    char text[8192];
    ck_assert_int_eq(mkfifo(path_in(folder, "pipe"), 0600), 0);
    const int pipe = open(path_in(folder, "pipe"), O_RDONLY | O_NONBLOCK);
    ck_assert_int_ge(pipe, 0);
    ck_assert_ok(kolk_pool_image_write(&empty_image, path_in(folder, "pipe")));
    ck_assert_int_gt(read(pipe, text, sizeof text), 1000);
    ck_assert_mem_eq(text, "{\"format\"", 9);
    (void)close(pipe);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("snapshot_file");
    TCase *const all = tcase_create("core");
    tcase_add_checked_fixture(all, open_folder, close_folder);
    tcase_add_test(all, commas_and_lines_come_where_they_belong);
    tcase_add_test(all, numbers_are_exact);
    tcase_add_loop_test(all, strings_are_escaped_and_always_utf_8, 0,
                        sizeof strings / sizeof strings[0]);
    tcase_add_test(all, a_text_longer_than_the_buffer_is_whole);
    tcase_add_test(all, the_pool_writes_a_file_with_the_permissions_of_the_process);
    tcase_add_test(all, a_later_snapshot_takes_the_place_of_an_earlier_one);
    tcase_add_loop_test(all, a_path_that_cannot_be_written_names_itself_and_the_reason,
                        0, sizeof refused / sizeof refused[0]);
    tcase_add_test(all, a_name_that_is_too_long_is_refused);
    tcase_add_test(all, a_file_that_cannot_be_finished_is_removed_and_the_old_one_kept);
    tcase_add_test(all, a_link_is_written_through);
    tcase_add_test(all, a_pipe_is_written_into);
    suite_add_tcase(suite, all);
    return kolk_run_suite(suite);
}
