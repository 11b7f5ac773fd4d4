/* SPDX-License-Identifier: MIT */
/* kolk-train's loop as a whole, everywhere tests can train. */
#include "failure.h"
#include "loop.h"
#include "places.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const train_options options = {.steps = 60,
                                      .seed = 3,
                                      .interval = 20,
                                      .context = 4,
                                      .embed = 8,
                                      .hidden = 32,
                                      .batch = 512,
                                      .learning_rate = 0.01};

static train_text text;
static train_place place;
static train_model model;
static volatile sig_atomic_t stop;
static int reports;
static train_progress last_report;

/* Lines of one to twelve words of a small language. */
static void open_text(void)
{
    static const char *const words[] = {"the", "pool", "gives",  "memory", "back",
                                        "to",  "a",    "stream", "in",     "order"};
    char *const letters = calloc(400, 128);
    size_t size = 0;
    for (unsigned line = 0; line < 400; line++)
        for (unsigned word = 0; word <= line * 7 % 12; word++)
            size += (size_t)sprintf(letters + size, "%s%s",
                                    words[(line * line + 3 * word) % 10],
                                    word == line * 7 % 12 ? "\n" : " ");
    ck_assert_ok(train_text_parse("text", (const uint8_t *)letters, size, &text));
    free(letters);
    stop = 0;
    reports = 0;
}

static void close_text(void)
{
    train_text_close(&text);
}

static void note_report(const train_progress *progress)
{
    reports++;
    last_report = *progress;
}

static void open_model(int where, int64_t seed)
{
    const train_shape shape = {text.vocabulary, options.context, options.embed,
                               options.hidden};
    places_open(where, &place);
    ck_assert_ok(train_model_open(&place, &shape, (uint64_t)seed, &model));
}

static void close_model(void)
{
    train_model_close(&model);
    places_close(&place);
}

static train_result run(const train_options *with)
{
    train_result result = {0};
    ck_assert_ok(train_loop(&model, &text, with, note_report, &stop, &result));
    return result;
}

static float *read_weights(train_role role)
{
    const kolk_tensor *const value = model.parameters[role].value;
    float *const values = calloc((size_t)kolk_tensor_numel(value), sizeof *values);
    ck_assert_ok(kolk_tensor_read(value, values, kolk_tensor_numel(value)));
    return values;
}

/* Trains from scratch; leaves the weights, for free(). */
static train_result run_for_weights(int where, int64_t seed, float **weights)
{
    train_options with = options;
    with.seed = seed;
    open_model(where, seed);
    const train_result result = run(&with);
    for (train_role role = 0; role < TRAIN_ROLES; role++)
        weights[role] = read_weights(role);
    close_model();
    return result;
}

static void free_weights(float **weights)
{
    for (train_role role = 0; role < TRAIN_ROLES; role++)
        free(weights[role]);
}

static size_t weights_size(train_role role)
{
    const size_t v = (size_t)text.vocabulary, h = 32, nm = 4 * 8;
    const size_t counts[TRAIN_ROLES] = {v * 8, h * nm, h, v * h, v};
    return counts[role] * sizeof(float);
}

START_TEST(two_runs_with_one_seed_agree_in_every_bit)
{
    float *first[TRAIN_ROLES], *second[TRAIN_ROLES];
    const train_result a = run_for_weights(_i, 3, first);
    const train_result b = run_for_weights(_i, 3, second);
    for (train_role role = 0; role < TRAIN_ROLES; role++)
        ck_assert_mem_eq(first[role], second[role], weights_size(role));
    ck_assert_mem_eq(&a.loss_first, &b.loss_first, sizeof(double));
    ck_assert_mem_eq(&a.loss_last, &b.loss_last, sizeof(double));
    ck_assert_mem_eq(&a.loss_heldout, &b.loss_heldout, sizeof(double));
    ck_assert_uint_eq(a.peak_requested, b.peak_requested);
    ck_assert_uint_eq(a.peak_reserved, b.peak_reserved);
    free_weights(first);
    free_weights(second);
}
END_TEST

START_TEST(another_seed_gives_another_run)
{
    float *first[TRAIN_ROLES], *second[TRAIN_ROLES];
    (void)run_for_weights(_i, 3, first);
    (void)run_for_weights(_i, 4, second);
    ck_assert_mem_ne(first[TRAIN_U], second[TRAIN_U], weights_size(TRAIN_U));
    free_weights(first);
    free_weights(second);
}
END_TEST

/* Emulated kernels and products are the host's, so not a bit may differ. */
START_TEST(every_place_gives_the_weights_of_the_host)
{
    float *host[TRAIN_ROLES], *other[TRAIN_ROLES];
    const train_result a = run_for_weights(0, 3, host);
    const train_result b = run_for_weights(_i, 3, other);
    for (train_role role = 0; role < TRAIN_ROLES; role++)
        ck_assert_mem_eq(host[role], other[role], weights_size(role));
    ck_assert_mem_eq(&a.loss_last, &b.loss_last, sizeof(double));
    ck_assert_mem_eq(&a.loss_heldout, &b.loss_heldout, sizeof(double));
    free_weights(host);
    free_weights(other);
}
END_TEST

START_TEST(it_learns_what_it_was_not_shown)
{
    open_model(_i, 3);
    const train_result result = run(&options);
    ck_assert_double_lt(result.loss_last, result.loss_first);
    ck_assert_double_lt(result.loss_heldout, result.unigram_entropy);
    ck_assert_double_lt(fabs(result.loss_first - log((double)text.vocabulary)), 0.5);
    close_model();
}
END_TEST

START_TEST(no_step_after_the_second_calls_the_driver_for_memory)
{
    open_model(_i, 3);
    const train_result result = run(&options);
    ck_assert_int_eq(result.steps, options.steps);
    ck_assert_double_eq(result.driver_calls_per_step_after_2, 0.0);
    const kolk_pool_stats stats = kolk_pool_stats_of(place.memory.pool);
    ck_assert_uint_gt(kolk_pool_driver_calls(place.memory.pool), 0);
    ck_assert_uint_gt(stats.hits, 8 * (uint64_t)options.steps);
    close_model();
}
END_TEST

/* At most a tenth and two pages of 2 MiB above what was asked for. */
START_TEST(the_pool_takes_little_more_than_is_asked_of_it)
{
    open_model(_i, 3);
    const train_result result = run(&options);
    ck_assert_uint_le(result.peak_reserved,
                      result.peak_requested + result.peak_requested / 10 + (4 << 20));
    ck_assert_uint_gt(result.peak_requested, 0);
    ck_assert_uint_gt(result.naive_peak, result.peak_requested);
    close_model();
}
END_TEST

START_TEST(progress_is_reported_at_intervals)
{
    open_model(_i, 3);
    const train_result result = run(&options);
    ck_assert_int_eq(reports, 3);
    ck_assert_int_eq(last_report.step, 60);
    ck_assert_double_lt(last_report.loss, result.loss_first);
    ck_assert_double_gt(last_report.characters_per_second, 0.0);
    ck_assert_double_gt(last_report.hit_rate, 0.99);
    ck_assert_uint_le(last_report.allocated, last_report.reserved);
    close_model();
}
END_TEST

static void stop_at_report(const train_progress *progress)
{
    note_report(progress);
    stop = 1;
}

START_TEST(a_request_to_stop_ends_the_loop_after_the_step)
{
    train_result result = {0};
    open_model(_i, 3);
    ck_assert_ok(train_loop(&model, &text, &options, stop_at_report, &stop, &result));
    ck_assert_int_eq(result.steps, 20);
    ck_assert_double_gt(result.loss_heldout, 0.0);
    close_model();
}
END_TEST

START_TEST(one_step_is_made_even_if_asked_to_stop_before)
{
    open_model(_i, 3);
    stop = 1;
    const train_result result = run(&options);
    ck_assert_int_eq(result.steps, 1);
    ck_assert_mem_eq(&result.loss_first, &result.loss_last, sizeof(double));
    ck_assert_double_eq(result.driver_calls_per_step_after_2, 0.0);
    close_model();
}
END_TEST

START_TEST(a_loss_that_is_not_finite_is_a_failure_that_names_the_rate)
{
    train_options wild = options;
    wild.learning_rate = 1000.0;
    wild.steps = 1000;
    train_result result = {.steps = 77};
    open_model(_i, 3);
    ck_assert_int_eq(train_loop(&model, &text, &wild, note_report, &stop, &result),
                     KOLK_OUT_OF_RANGE);
    ck_assert_int_eq(result.steps, 77);
    const char *const message = train_failure();
    ck_assert_msg(strstr(message, "--lr 1000 is too large") != NULL, "%s", message);
    close_model();
}
END_TEST

static Suite *suite(void)
{
    Suite *const suite = suite_create("train_loop");
    TCase *const tc = tcase_create("core");
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, open_text, close_text);
    tcase_add_loop_test(tc, two_runs_with_one_seed_agree_in_every_bit, 0,
                        places_count());
    tcase_add_loop_test(tc, another_seed_gives_another_run, 0, places_count());
    tcase_add_loop_test(tc, every_place_gives_the_weights_of_the_host, 1,
                        places_count());
    tcase_add_loop_test(tc, it_learns_what_it_was_not_shown, 0, places_count());
    tcase_add_loop_test(tc, no_step_after_the_second_calls_the_driver_for_memory, 0,
                        places_count());
    tcase_add_loop_test(tc, the_pool_takes_little_more_than_is_asked_of_it, 0,
                        places_count());
    tcase_add_loop_test(tc, progress_is_reported_at_intervals, 0, places_count());
    tcase_add_loop_test(tc, a_request_to_stop_ends_the_loop_after_the_step, 0,
                        places_count());
    tcase_add_loop_test(tc, one_step_is_made_even_if_asked_to_stop_before, 0,
                        places_count());
    tcase_add_loop_test(tc, a_loss_that_is_not_finite_is_a_failure_that_names_the_rate,
                        0, places_count());
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return places_run_suite(suite());
}
