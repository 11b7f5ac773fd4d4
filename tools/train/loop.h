/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TRAIN_LOOP_H
#define KOLK_TRAIN_LOOP_H

/* The loop itself: minibatch, gradients, update, until the steps are done or
 * someone asks to stop; then the loss on what was held out. */

#include "model.h"
#include "options.h"
#include "text.h"

#include <kolk/stats.h>
#include <signal.h>

/* What happened since the last report. */
typedef struct train_progress {
    int64_t step;
    double loss; /* mean per minibatch */
    double characters_per_second;
    double hit_rate; /* part of allocations served without leaving the stream */
    uint64_t allocated, reserved;
} train_progress;

typedef struct train_result {
    int64_t steps; /* made */
    double loss_first, loss_last, loss_heldout, unigram_entropy;
    double driver_calls_per_step_after_2;
    uint64_t peak_requested, peak_reserved, naive_peak; /* bytes */
    double seconds;                                     /* of the steps */
    int64_t characters;                                 /* learnt from */
} train_result;

typedef void (*train_report)(const train_progress *progress);

/* Trains `model` on `text`. `*stop` may be set at any time, by a signal handler
 * too: at least one step is made, and the one under way is finished. */
KOLK_NODISCARD kolk_status train_loop(train_model *model, const train_text *text,
                                      const train_options *options, train_report report,
                                      const volatile sig_atomic_t *stop,
                                      train_result *out);

#endif
