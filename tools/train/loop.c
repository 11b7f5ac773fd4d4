/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "loop.h"

#include "batch.h"
#include "failure.h"

#include <math.h>
#include <time.h>

/* The order of lines has a seed of its own, so that a model of another size
 * sees the same minibatches. */
#define ORDER_SEED UINT64_C(0x6b6f6c6b)

/* Counts since the last report. */
struct meter {
    double began;
    double loss;
    int64_t steps, characters;
    uint64_t hits, misses;
};

struct loop {
    train_model *model;
    train_batches *batches;
    const train_options *options;
    train_report report;
    struct meter meter;
    uint64_t driver_calls_by_2;
    train_result *result;
};

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static train_batch batch_of(const train_batches *batches)
{
    return (train_batch){batches->ids, batches->targets, batches->count};
}

static double sum_of_losses(const train_batches *batches)
{
    double sum = 0.0;
    for (int64_t i = 0; i < batches->count; i++)
        sum += (double)batches->losses[i];
    return sum;
}

static kolk_status check_loss(const struct loop *loop, double loss)
{
    if (isfinite(loss))
        return KOLK_OK;
    return train_fail(
        KOLK_OUT_OF_RANGE,
        "the loss is not finite any more after %lld steps: --lr %g is too "
        "large",
        (long long)loop->result->steps, loop->options->learning_rate);
}

/* ---- progress ------------------------------------------------------------ */

static void meter_start(struct meter *meter, const kolk_pool_stats *stats)
{
    *meter =
        (struct meter){.began = now(), .hits = stats->hits, .misses = stats->misses};
}

static double rate_of(uint64_t hits, uint64_t misses)
{
    return hits + misses ? (double)hits / (double)(hits + misses) : 1.0;
}

static void report_progress(struct loop *loop)
{
    struct meter *const meter = &loop->meter;
    const kolk_pool_stats stats = kolk_pool_stats_of(loop->model->place->memory.pool);
    const train_progress progress = {
        .step = loop->result->steps,
        .loss = meter->loss / (double)meter->steps,
        .characters_per_second = (double)meter->characters / (now() - meter->began),
        .hit_rate = rate_of(stats.hits - meter->hits, stats.misses - meter->misses),
        .allocated = stats.allocated.current,
        .reserved = stats.reserved.current};
    loop->report(&progress);
    meter_start(meter, &stats);
}

/* ---- steps --------------------------------------------------------------- */

static void note_step(struct loop *loop, double loss)
{
    train_result *const result = loop->result;
    if (result->steps == 0)
        result->loss_first = loss;
    result->loss_last = loss;
    result->steps++;
    result->characters += loop->batches->count;
    loop->meter.loss += loss;
    loop->meter.steps++;
    loop->meter.characters += loop->batches->count;
    if (result->steps <= 2)
        loop->driver_calls_by_2 =
            kolk_pool_driver_calls(loop->model->place->memory.pool);
}

static kolk_status run_step(struct loop *loop)
{
    train_batches *const batches = loop->batches;
    if (!train_batches_next(batches))
        (void)train_batches_next(batches);
    const train_batch batch = batch_of(batches);
    KOLK_TRY(train_model_gradients(loop->model, &batch, batches->losses));
    KOLK_TRY(train_model_update(loop->model, (float)loop->options->learning_rate));
    const double loss = sum_of_losses(batches) / (double)batch.count;
    note_step(loop, loss);
    return check_loss(loop, loss);
}

static kolk_status run_steps(struct loop *loop, const volatile sig_atomic_t *stop)
{
    const train_options *const options = loop->options;
    do {
        KOLK_TRY(run_step(loop));
        const int64_t step = loop->result->steps;
        if (step % options->interval == 0 || step == options->steps)
            report_progress(loop);
    } while (loop->result->steps < options->steps && !*stop);
    return KOLK_OK;
}

static double calls_per_step_after_2(const struct loop *loop)
{
    const uint64_t calls = kolk_pool_driver_calls(loop->model->place->memory.pool);
    if (loop->result->steps <= 2)
        return 0.0;
    return (double)(calls - loop->driver_calls_by_2) /
           (double)(loop->result->steps - 2);
}

static kolk_status train(struct loop *loop, const volatile sig_atomic_t *stop)
{
    const kolk_pool_stats stats = kolk_pool_stats_of(loop->model->place->memory.pool);
    const double began = now();
    meter_start(&loop->meter, &stats);
    KOLK_TRY(run_steps(loop, stop));
    loop->result->seconds = now() - began;
    loop->result->driver_calls_per_step_after_2 = calls_per_step_after_2(loop);
    return KOLK_OK;
}

/* ---- what was held out --------------------------------------------------- */

static kolk_status evaluate(const struct loop *loop, train_batches *batches)
{
    double sum = 0.0;
    while (train_batches_next(batches)) {
        const train_batch batch = batch_of(batches);
        KOLK_TRY(train_model_losses(loop->model, &batch, batches->losses));
        sum += sum_of_losses(batches);
    }
    loop->result->loss_heldout = sum / (double)batches->lines->characters;
    return check_loss(loop, loop->result->loss_heldout);
}

static void note_memory(const train_memory *memory, train_result *result)
{
    const kolk_pool_stats stats = kolk_pool_stats_of(memory->pool);
    result->peak_requested = stats.requested.peak;
    result->peak_reserved = stats.reserved.peak;
    result->naive_peak = train_memory_naive_peak(memory);
}

kolk_status train_loop(train_model *model, const train_text *text,
                       const train_options *options, train_report report,
                       const volatile sig_atomic_t *stop, train_result *out)
{
    train_result result = {.unigram_entropy = train_text_unigram_entropy(text)};
    train_batches train_set KOLK_AUTO(train_batches_close) = {0};
    train_batches held_out KOLK_AUTO(train_batches_close) = {0};
    train_batches_open(text, &text->train, options->context, options->batch,
                       &train_set);
    train_batches_open(text, &text->held_out, options->context, options->batch,
                       &held_out);
    train_batches_shuffle(&train_set, (uint64_t)options->seed ^ ORDER_SEED);

    struct loop loop = {.model = model,
                        .batches = &train_set,
                        .options = options,
                        .report = report,
                        .result = &result};
    KOLK_TRY(train(&loop, stop));
    KOLK_TRY(evaluate(&loop, &held_out));
    note_memory(&model->place->memory, &result);
    *out = result;
    return KOLK_OK;
}
