/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
/* kolk-train: a small language model learns a text, to show a training loop
 * that runs on a pool. */
#include "failure.h"
#include "loop.h"
#include "report.h"

#include <stdio.h>

enum { EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_INPUT = 3 };

static volatile sig_atomic_t stop;

static void request_stop(int signal)
{
    (void)signal;
    stop = 1;
}

/* A second Ctrl-C ends the program at once, as if there were no handler. */
static void listen_for_stop(void)
{
    const struct sigaction action = {.sa_handler = request_stop,
                                     .sa_flags = (int)SA_RESETHAND};
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

static int complain(int code)
{
    (void)fprintf(stderr, "kolk-train: %s\n", train_failure());
    return code;
}

static void report_result(const train_options *options, const train_place *place,
                          const train_result *result)
{
    if (options->json)
        train_report_json(result, place, options);
    else
        train_report_summary(result);
}

static kolk_status write_snapshot(const train_options *options,
                                  const train_place *place)
{
    if (!options->stats)
        return KOLK_OK;
    return kolk_pool_snapshot_write(place->memory.pool, options->stats);
}

static kolk_status train(const train_options *options, const train_text *text,
                         train_place *place)
{
    const train_shape shape = {text->vocabulary, options->context, options->embed,
                               options->hidden};
    train_model model KOLK_AUTO(train_model_close) = {0};
    train_result result;
    KOLK_TRY(train_model_open(place, &shape, (uint64_t)options->seed, &model));
    /* That FILE cannot be written is better known before the training. */
    KOLK_TRY(write_snapshot(options, place));
    train_report_start(text, place);
    KOLK_TRY(train_loop(&model, text, options, train_report_progress, &stop, &result));
    const kolk_status status = write_snapshot(options, place);
    report_result(options, place, &result);
    return status;
}

/* A write that failed earlier is remembered by the stream. */
static kolk_status finish_output(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return KOLK_OK;
    return train_fail(KOLK_IO, "standard output cannot be written");
}

int main(int argc, char **argv)
{
    train_options options;
    if (train_options_parse(argc, argv, &options) != KOLK_OK)
        return complain(EXIT_USAGE);
    if (options.help) {
        train_options_explain();
        return 0;
    }
    train_text text KOLK_AUTO(train_text_close) = {0};
    if (train_text_read(options.file, options.limit, &text) != KOLK_OK)
        return complain(EXIT_INPUT);
    train_place place KOLK_AUTO(train_place_close) = {0};
    if (train_place_choose(options.device, &place) != KOLK_OK)
        return complain(EXIT_FAILED);
    listen_for_stop();
    if (train(&options, &text, &place) != KOLK_OK || finish_output() != KOLK_OK)
        return complain(EXIT_FAILED);
    return 0;
}
