/* SPDX-License-Identifier: MIT */
/* kolk-train's model against finite differences and against a reference in
 * double precision, everywhere tests can train. Tolerances are some ten times what was
 * seen: single precision carries 24 bits, and a gradient here adds up to 40 products.
 */
#include "suite.h"
#include "twin.h"

#include <kolk/stats.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GRADIENT_TOLERANCE 1e-7
#define LOSS_TOLERANCE 1e-6
#define WEIGHT_TOLERANCE 1e-5

static train_twin t;

static void close_twin(void)
{
    twin_close(&t);
}

/* Central difference of the reference's loss, which is exact to about 1e-9. */
static double difference(train_role role, int64_t at)
{
    const double step = 1e-5;
    double *const value = &t.ref.value[role][at];
    const double saved = *value;
    *value = saved + step;
    const double above = ref_loss(&t.ref, t.ids, t.targets, t.batch.count);
    *value = saved - step;
    const double below = ref_loss(&t.ref, t.ids, t.targets, t.batch.count);
    *value = saved;
    return (above - below) / (2.0 * step);
}

START_TEST(each_gradient_is_the_slope_of_the_loss)
{
    twin_open(&t, _i % places_count());
    const train_role role = (train_role)(_i / places_count());
    double loss, expected;
    twin_draw(&t, 17);
    twin_gradients(&t, &loss, &expected);
    float *const gradient = twin_gradient(&t.model, role);
    for (int64_t i = 0; i < t.ref.size[role]; i++) {
        const double slope = difference(role, i);
        ck_assert_msg(fabs((double)gradient[i] - slope) <= GRADIENT_TOLERANCE,
                      "%s[%d]: gradient %.9g, slope %.9g", train_role_name(role),
                      (int)i, (double)gradient[i], slope);
    }
    free(gradient);
}
END_TEST

START_TEST(gradients_do_not_pile_up_from_step_to_step)
{
    twin_open(&t, _i % places_count());
    double loss, expected;
    twin_draw(&t, 20);
    twin_gradients(&t, &loss, &expected);
    float *const first = twin_gradient(&t.model, TRAIN_C);
    twin_gradients(&t, &loss, &expected);
    float *const second = twin_gradient(&t.model, TRAIN_C);
    ck_assert_mem_eq(first, second, (size_t)t.ref.size[TRAIN_C] * sizeof *first);
    free(first);
    free(second);
}
END_TEST

static void compare_weights(void)
{
    for (train_role role = 0; role < TRAIN_ROLES; role++) {
        float *const values = twin_values(&t.model, role);
        for (int64_t i = 0; i < t.ref.size[role]; i++)
            ck_assert_msg(fabs((double)values[i] - t.ref.value[role][i]) <=
                              WEIGHT_TOLERANCE,
                          "%s[%d]: %.9g, expected %.9g", train_role_name(role), (int)i,
                          (double)values[i], t.ref.value[role][i]);
        free(values);
    }
}

START_TEST(twenty_steps_lose_what_the_reference_loses)
{
    twin_open(&t, _i % places_count());
    double first = 0.0, loss = 0.0, expected = 0.0;
    for (int step = 0; step < 20; step++) {
        twin_draw(&t, 1 + step * 13 % TWIN_MAX);
        twin_gradients(&t, &loss, &expected);
        ck_assert_msg(fabs(loss - expected) <= LOSS_TOLERANCE,
                      "step %d: loss %.9g, expected %.9g", step, loss, expected);
        first = step == 0 ? loss : first;
        twin_update(&t, 0.01);
    }
    ck_assert_double_lt(loss, first);
    compare_weights();
}
END_TEST

START_TEST(losses_without_gradients_are_the_same)
{
    twin_open(&t, _i % places_count());
    double loss, expected;
    twin_draw(&t, 25);
    twin_gradients(&t, &loss, &expected);
    float losses[25];
    ck_assert_ok(train_model_losses(&t.model, &t.batch, losses));
    ck_assert_mem_eq(losses, t.losses, sizeof losses);
}
END_TEST

START_TEST(buffers_of_a_step_are_gone_after_it)
{
    twin_open(&t, _i % places_count());
    const kolk_pool_stats before = kolk_pool_stats_of(t.place.memory.pool);
    double loss, expected;
    twin_draw(&t, TWIN_MAX);
    twin_gradients(&t, &loss, &expected);
    const kolk_pool_stats after = kolk_pool_stats_of(t.place.memory.pool);
    ck_assert_uint_eq(after.requested.current, before.requested.current);
    ck_assert_uint_eq(after.blocks.current, before.blocks.current);
}
END_TEST

/* Every buffer but BLAS's workspace is smaller than 512 bytes: C, H, d, U and b have a
 * gradient and two moments each, and the step 8 buffers, of which ids [1, 3], targets
 * and losses [1], x [1, 12], a [1, 9], y [1, 7], da and dx. H has 432 bytes. */
START_TEST(the_naive_peak_counts_each_buffer_of_the_largest_step)
{
    twin_open(&t, _i % places_count());
    float loss;
    twin_draw(&t, 1);
    ck_assert_ok(train_model_losses(&t.model, &t.batch, &loss));
    const uint64_t kept = t.place.memory.kept;
    const uint64_t workspace = t.place.device.kind == KOLK_HOST ? 0 : 4 << 20;
    ck_assert_uint_eq(kept, 20 * 512 + workspace);
    ck_assert_uint_eq(train_memory_naive_peak(&t.place.memory), kept + 6 * 512);
    ck_assert_ok(train_model_gradients(&t.model, &t.batch, &loss));
    ck_assert_uint_eq(train_memory_naive_peak(&t.place.memory), kept + 8 * 512);
    ck_assert_ok(train_model_losses(&t.model, &t.batch, &loss));
    ck_assert_uint_eq(train_memory_naive_peak(&t.place.memory), kept + 8 * 512);
}
END_TEST

/* x alone takes 48 bytes for a character, so a step needs 10 MB and more. */
START_TEST(a_step_that_finds_no_memory_can_be_made_again)
{
    twin_open(&t, _i % places_count());
    enum { COUNT = 200000 };
    kolk_pool *const pool = t.place.memory.pool;
    int32_t *const ids = calloc(COUNT * TWIN_N, sizeof *ids);
    int32_t *const targets = calloc(COUNT, sizeof *targets);
    float *const losses = calloc(COUNT, sizeof *losses);
    const train_batch batch = {ids, targets, COUNT};
    ck_assert_ok(kolk_pool_set_limit(pool, 8 << 20));
    ck_assert_int_eq(train_model_gradients(&t.model, &batch, losses),
                     KOLK_OUT_OF_MEMORY);
    ck_assert_ok(kolk_pool_check(pool));
    ck_assert_ok(kolk_pool_set_limit(pool, 0));
    ck_assert_ok(train_model_gradients(&t.model, &batch, losses));
    ck_assert_double_eq_tol((double)losses[0], ref_loss(&t.ref, ids, targets, 1),
                            LOSS_TOLERANCE);
    free(ids);
    free(targets);
    free(losses);
}
END_TEST

static Suite *suite(void)
{
    Suite *const suite = suite_create("train_model");
    TCase *const tc = tcase_create("core");
    tcase_add_checked_fixture(tc, NULL, close_twin);
    tcase_add_loop_test(tc, each_gradient_is_the_slope_of_the_loss, 0,
                        places_count() * TRAIN_ROLES);
    tcase_add_loop_test(tc, gradients_do_not_pile_up_from_step_to_step, 0,
                        places_count());
    tcase_add_loop_test(tc, twenty_steps_lose_what_the_reference_loses, 0,
                        places_count());
    tcase_add_loop_test(tc, losses_without_gradients_are_the_same, 0, places_count());
    tcase_add_loop_test(tc, buffers_of_a_step_are_gone_after_it, 0, places_count());
    tcase_add_loop_test(tc, the_naive_peak_counts_each_buffer_of_the_largest_step, 0,
                        places_count());
    tcase_add_loop_test(tc, a_step_that_finds_no_memory_can_be_made_again, 0,
                        places_count());
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return places_run_suite(suite());
}
