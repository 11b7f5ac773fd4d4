/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
/* The program kolk-train as a user meets it: run with arguments, judged by what
 * it prints and how it ends. KOLK_TRAIN names the program. */
#include "suite.h"

#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE (2 << 20)

/* A sanitizer takes more address space than any limit a test could set. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED true
#endif
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

static char folder[] = "/tmp/kolk-train-XXXXXX";
static char text_path[64], stats_path[64];

/* A run, and after its end what it printed. */
struct program {
    pid_t pid;
    int out, err;
    int code; /* exit status, or -1 */
    char *printed, *complained;
};

static void open_folder(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(text_path, sizeof text_path, "%s/text", folder);
    (void)snprintf(stats_path, sizeof stats_path, "%s/stats", folder);
}

static void close_folder(void)
{
    (void)unlink(text_path);
    (void)unlink(stats_path);
    ck_assert_int_eq(rmdir(folder), 0);
}

static void write_text(const void *bytes, size_t size)
{
    FILE *const file = fopen(text_path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
}

/* The licence that every Debian carries, or else some of our own making. */
static const char *real_text(void)
{
    static const char gpl[] = "/usr/share/common-licenses/GPL-3";
    if (access(gpl, R_OK) == 0)
        return gpl;
    FILE *const file = fopen(text_path, "w");
    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < 1000; i++)
        (void)fprintf(file, "line %d of %d: memory comes from the pool\n", i, i % 7);
    ck_assert_int_eq(fclose(file), 0);
    return text_path;
}

/* ---- running it ---------------------------------------------------------- */

static int unlinked_file(void)
{
    FILE *const file = tmpfile();
    ck_assert_ptr_nonnull(file);
    const int fd = dup(fileno(file));
    ck_assert_int_eq(fclose(file), 0);
    return fd;
}

static void limit_memory(size_t bytes)
{
    const struct rlimit limit = {bytes, bytes};
    if (bytes != 0)
        (void)setrlimit(RLIMIT_AS, &limit);
}

/* `arguments` ends with NULL. `memory`: bytes of address space, 0 for any. */
static struct program start(const char *const *arguments, size_t memory)
{
    char *argv[32] = {getenv("KOLK_TRAIN")};
    for (int i = 0; arguments[i]; i++)
        argv[i + 1] = (char *)(uintptr_t)arguments[i];
    ck_assert_msg(argv[0] != NULL, "KOLK_TRAIN is not set");
    struct program program = {.out = unlinked_file(), .err = unlinked_file()};
    program.pid = fork();
    if (program.pid == 0) {
        (void)dup2(program.out, STDOUT_FILENO);
        (void)dup2(program.err, STDERR_FILENO);
        limit_memory(memory);
        execv(argv[0], argv);
        _exit(127);
    }
    ck_assert_int_gt(program.pid, 0);
    return program;
}

static char *read_whole(int fd)
{
    const off_t size = lseek(fd, 0, SEEK_END);
    char *const text = calloc((size_t)size + 1, 1);
    ck_assert_int_eq(pread(fd, text, (size_t)size, 0), size);
    (void)close(fd);
    return text;
}

static void finish(struct program *program)
{
    int status;
    ck_assert_int_eq(waitpid(program->pid, &status, 0), program->pid);
    program->code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    program->printed = read_whole(program->out);
    program->complained = read_whole(program->err);
}

static void forget(struct program *program)
{
    free(program->printed);
    free(program->complained);
}

#define RUN(...) run_program((const char *const[]){__VA_ARGS__, NULL})

static struct program run_program(const char *const *arguments)
{
    struct program program = start(arguments, 0);
    finish(&program);
    return program;
}

/* The object on the last line, for json_decref(). */
static json_t *last_line(const struct program *program)
{
    ck_assert_msg(program->code == 0, "exit %d: %s", program->code,
                  program->complained);
    const size_t size = strlen(program->printed);
    ck_assert_uint_gt(size, 0);
    ck_assert_int_eq(program->printed[size - 1], '\n');
    program->printed[size - 1] = '\0';
    const char *const line = strrchr(program->printed, '\n');
    json_t *const object = json_loads(line ? line + 1 : program->printed, 0, NULL);
    ck_assert_msg(json_is_object(object), "%s", program->printed);
    return object;
}

static double number_in(const json_t *object, const char *key)
{
    const json_t *const value = json_object_get(object, key);
    ck_assert_msg(json_is_number(value), "%s is missing", key);
    return json_number_value(value);
}

/* ---- what it does -------------------------------------------------------- */

START_TEST(it_learns_a_real_text_with_every_default)
{
    struct program program = RUN("--json", "--device", "host", real_text());
    json_t *const object = last_line(&program);
    const double requested = number_in(object, "peak_requested_bytes");
    ck_assert_double_lt(number_in(object, "loss_heldout"),
                        number_in(object, "unigram_entropy"));
    ck_assert_double_lt(number_in(object, "loss_last"),
                        number_in(object, "loss_first"));
    ck_assert_double_eq(number_in(object, "driver_calls_per_step_after_2"), 0.0);
    ck_assert_double_le(number_in(object, "peak_reserved_bytes"),
                        1.10 * requested + 2 * PAGE);
    ck_assert_double_lt(requested, number_in(object, "naive_peak_bytes"));
    ck_assert_str_eq(json_string_value(json_object_get(object, "device")), "host");
    json_decref(object);
    forget(&program);
}
END_TEST

START_TEST(two_runs_with_one_seed_print_the_same_but_for_time)
{
    json_t *objects[2];
    for (int i = 0; i < 2; i++) {
        struct program program = RUN("--json", "--device", "host", "--steps", "20",
                                     "--seed", "9", real_text());
        objects[i] = last_line(&program);
        ck_assert_int_eq(json_object_del(objects[i], "seconds"), 0);
        forget(&program);
    }
    ck_assert(json_equal(objects[0], objects[1]));
    ck_assert_double_eq(number_in(objects[0], "seed"), 9.0);
    ck_assert_double_eq(number_in(objects[0], "steps"), 20.0);
    json_decref(objects[0]);
    json_decref(objects[1]);
}
END_TEST

START_TEST(the_snapshot_is_a_json_text)
{
    struct program program =
        RUN("--device", "host", "--steps", "3", "--stats", stats_path, real_text());
    ck_assert_msg(program.code == 0, "%s", program.complained);
    json_t *const snapshot = json_load_file(stats_path, 0, NULL);
    ck_assert(json_is_object(snapshot));
    json_decref(snapshot);
    forget(&program);
}
END_TEST

static void wait_for_output(const struct program *program)
{
    for (int i = 0; i < 3000 && lseek(program->out, 0, SEEK_END) == 0; i++)
        (void)usleep(10000);
    ck_assert_int_gt(lseek(program->out, 0, SEEK_END), 0);
}

static const int signals[] = {SIGINT, SIGTERM};

START_TEST(an_interrupt_still_writes_snapshot_and_summary)
{
    struct program program =
        start((const char *const[]){"--json", "--device", "host", "--steps", "1000000",
                                    "--interval", "1", "--stats", stats_path,
                                    real_text(), NULL},
              0);
    wait_for_output(&program);
    ck_assert_int_eq(unlink(stats_path), 0); /* the one of the start */
    ck_assert_int_eq(kill(program.pid, signals[_i]), 0);
    finish(&program);
    json_t *const object = last_line(&program);
    ck_assert_double_ge(number_in(object, "steps"), 1.0);
    ck_assert_double_lt(number_in(object, "steps"), 1000000.0);
    ck_assert_int_eq(access(stats_path, R_OK), 0);
    json_decref(object);
    forget(&program);
}
END_TEST

START_TEST(lines_of_progress_and_a_summary_are_printed)
{
    struct program program =
        RUN("--device", "host", "--steps", "4", "--interval", "2", real_text());
    ck_assert_int_eq(program.code, 0);
    const char *const expected[] = {"    step     loss  tokens/s      allocated ",
                                    "     reserved       hits\n",
                                    "\n       2   ",
                                    "\n       4   ",
                                    "held out ",
                                    "unigram entropy ",
                                    "without a pool "};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        ck_assert_msg(strstr(program.printed, expected[i]) != NULL, "no \"%s\" in:\n%s",
                      expected[i], program.printed);
    for (const char *line = program.printed; *line; line += strcspn(line, "\n") + 1)
        ck_assert_uint_le(strcspn(line, "\n"), 80);
    forget(&program);
}
END_TEST

START_TEST(help_explains_every_option)
{
    struct program program = RUN("--help");
    ck_assert_int_eq(program.code, 0);
    const char *const expected[] = {"--steps",  "--seed",     "--interval", "--context",
                                    "--embed",  "--hidden",   "--batch",    "--lr",
                                    "--device", "--limit",    "--stats",    "--json",
                                    "--help",   "Exit status"};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        ck_assert_msg(strstr(program.printed, expected[i]) != NULL, "%s", expected[i]);
    forget(&program);
}
END_TEST

START_TEST(the_limit_may_cut_a_character)
{
    write_text("ab\ncd\ne\xc3\xa9\n", 10);
    struct program program =
        RUN("--device", "host", "--steps", "1", "--limit", "8", text_path);
    ck_assert_msg(program.code == 0, "%s", program.complained);
    ck_assert_msg(strncmp(program.printed, "7 characters, 6 different", 25) == 0, "%s",
                  program.printed);
    forget(&program);
}
END_TEST

/* ---- what it refuses ----------------------------------------------------- */

static const struct {
    const char *arguments[4];
    int code;
    const char *message;
} refusals[] = {
    {{NULL}, 2, "takes one FILE, got 0"},
    {{"a", "b", NULL}, 2, "takes one FILE, got 2"},
    {{"--steps", "0", "a"}, 2, "--steps 0 is out of bounds: from 1 to 1000000000"},
    {{"--steps", "1000000001", "a"}, 2, "--steps 1000000001 is out of bounds: from 1"},
    {{"--seed", "-1", "a"},
     2,
     "--seed -1 is out of bounds: from 0 to 9223372036854775807"},
    {{"--seed", "99999999999999999999", "a"},
     2,
     "--seed 99999999999999999999 is out of"},
    {{"--interval", "", "a"}, 2, "--interval '' is not a whole number from 1"},
    {{"--context", "4x", "a"},
     2,
     "--context '4x' is not a whole number from 1 to 1024"},
    {{"--embed", "4097", "a"}, 2, "--embed 4097 is out of bounds: from 1 to 4096"},
    {{"--hidden", "1.5", "a"},
     2,
     "--hidden '1.5' is not a whole number from 1 to 65536"},
    {{"--batch", "255", "a"}, 2, "--batch 255 is out of bounds: from 256 to 1048576"},
    {{"--limit", "0", "a"}, 2, "--limit 0 is out of bounds: from 1 to"},
    {{"--lr", "0", "a"}, 2, "--lr '0' is not a number above 0 and up to 1000"},
    {{"--lr", "nan", "a"}, 2, "--lr 'nan' is not a number above 0 and up to 1000"},
    {{"--lr", "1e4", "a"}, 2, "--lr '1e4' is not a number above 0 and up to 1000"},
    {{"--device", "gpu", "a"}, 2, "--device 'gpu' is none of auto, host and cuda"},
    {{"--wrong", "a", NULL}, 2, "--wrong is no option; --help lists them"},
    {{"a", "--stats", NULL}, 2, "--stats needs a value"},
    {{"/nowhere/at/all", NULL}, 3, "/nowhere/at/all: No such file or directory"},
    {{"/tmp", NULL}, 3, "/tmp: Is a directory"},
    {{"/dev/null", NULL}, 3, "/dev/null: the file is empty"},
};

START_TEST(bad_usage_and_unreadable_input_are_refused)
{
    struct program program = run_program(refusals[_i].arguments);
    char expected[256];
    (void)snprintf(expected, sizeof expected, "kolk-train: %s", refusals[_i].message);
    ck_assert_msg(program.code == refusals[_i].code, "exit %d", program.code);
    ck_assert_msg(strncmp(program.complained, expected, strlen(expected)) == 0, "%s",
                  program.complained);
    ck_assert_str_eq(program.printed, "");
    forget(&program);
}
END_TEST

START_TEST(a_text_that_is_no_utf8_is_refused_with_the_offset)
{
    write_text("fine\n\xc0\x80\n", 8);
    struct program program = RUN(text_path);
    ck_assert_int_eq(program.code, 3);
    ck_assert_msg(strstr(program.complained, "byte 0xc0 at offset 5 ") != NULL, "%s",
                  program.complained);
    forget(&program);
}
END_TEST

START_TEST(a_text_of_one_line_is_refused)
{
    write_text("lonely\n", 7);
    struct program program = RUN(text_path);
    ck_assert_int_eq(program.code, 3);
    ck_assert_ptr_nonnull(strstr(program.complained, "too short: 1 line of 7 char"));
    forget(&program);
}
END_TEST

START_TEST(a_snapshot_that_cannot_be_written_is_a_failure_before_the_training)
{
    struct program program = RUN("--device", "host", "--steps", "1000000", "--stats",
                                 "/nowhere/at/all", real_text());
    ck_assert_int_eq(program.code, 1);
    ck_assert_ptr_nonnull(strstr(program.complained, "/nowhere/at/all"));
    ck_assert_str_eq(program.printed, "");
    forget(&program);
}
END_TEST

START_TEST(a_snapshot_that_can_no_longer_be_written_is_a_failure_after_the_summary)
{
    char room[80], path[96];
    (void)snprintf(room, sizeof room, "%s/room", folder);
    (void)snprintf(path, sizeof path, "%s/stats", room);
    ck_assert_int_eq(mkdir(room, 0700), 0);
    struct program program = start(
        (const char *const[]){"--device", "host", "--steps", "1000000", "--interval",
                              "1", "--stats", path, real_text(), NULL},
        0);
    wait_for_output(&program);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(rmdir(room), 0);
    ck_assert_int_eq(kill(program.pid, SIGINT), 0);
    finish(&program);
    ck_assert_int_eq(program.code, 1);
    ck_assert_ptr_nonnull(strstr(program.complained, path));
    ck_assert_ptr_nonnull(strstr(program.printed, "held out "));
    forget(&program);
}
END_TEST

START_TEST(an_output_that_is_full_is_a_failure_that_says_so)
{
    char line[256];
    (void)snprintf(line, sizeof line,
                   "\"$KOLK_TRAIN\" --device host --steps 2 '%s' >/dev/full 2>'%s'",
                   real_text(), stats_path);
    const int status = system(line);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 1);
    (void)snprintf(line, sizeof line, "grep -q 'standard output' '%s'", stats_path);
    ck_assert_int_eq(system(line), 0);
}
END_TEST

START_TEST(a_rate_that_ruins_the_loss_is_a_failure)
{
    struct program program = RUN("--device", "host", "--lr", "1000", "--hidden", "8",
                                 "--steps", "1000", real_text());
    ck_assert_int_eq(program.code, 1);
    ck_assert_msg(strstr(program.complained, "--lr 1000 is too large") != NULL, "%s",
                  program.complained);
    forget(&program);
}
END_TEST

/* 64 MiB of text need 256 MiB more for its numbers. */
START_TEST(a_host_without_memory_for_the_text_is_a_failure)
{
    write_text("a\nb\n", 4);
    ck_assert_int_eq(truncate(text_path, 64 << 20), 0);
    struct program program = start((const char *const[]){text_path, NULL}, 300 << 20);
    finish(&program);
    ck_assert_int_eq(program.code, 1);
    ck_assert_msg(strstr(program.complained, "no host memory for ") != NULL, "%s",
                  program.complained);
    forget(&program);
}
END_TEST

START_TEST(cuda_without_a_device_gives_the_reason)
{
    struct program program = RUN("--device", "cuda", "--steps", "1", real_text());
    ck_assert_int_eq(program.code, 1);
    ck_assert_str_eq(program.printed, "");
    ck_assert_msg(strstr(program.complained, "CUDA") != NULL, "%s", program.complained);
    forget(&program);
}
END_TEST

static Suite *suite(void)
{
    Suite *const suite = suite_create("train");
    TCase *const tc = tcase_create("core");
    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, open_folder, close_folder);
    tcase_add_test(tc, it_learns_a_real_text_with_every_default);
    tcase_add_test(tc, two_runs_with_one_seed_print_the_same_but_for_time);
    tcase_add_test(tc, the_snapshot_is_a_json_text);
    tcase_add_loop_test(tc, an_interrupt_still_writes_snapshot_and_summary, 0,
                        sizeof signals / sizeof *signals);
    tcase_add_test(tc, lines_of_progress_and_a_summary_are_printed);
    tcase_add_test(tc, help_explains_every_option);
    tcase_add_test(tc, the_limit_may_cut_a_character);
    tcase_add_loop_test(tc, bad_usage_and_unreadable_input_are_refused, 0,
                        sizeof refusals / sizeof *refusals);
    tcase_add_test(tc, a_text_that_is_no_utf8_is_refused_with_the_offset);
    tcase_add_test(tc, a_text_of_one_line_is_refused);
    tcase_add_test(tc,
                   a_snapshot_that_cannot_be_written_is_a_failure_before_the_training);
    tcase_add_test(
        tc, a_snapshot_that_can_no_longer_be_written_is_a_failure_after_the_summary);
    tcase_add_test(tc, an_output_that_is_full_is_a_failure_that_says_so);
    tcase_add_test(tc, a_rate_that_ruins_the_loss_is_a_failure);
    if (!SANITIZED)
        tcase_add_test(tc, a_host_without_memory_for_the_text_is_a_failure);
    if (access("/dev/nvidiactl", F_OK) != 0)
        tcase_add_test(tc, cuda_without_a_device_gives_the_reason);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return kolk_run_suite(suite());
}
