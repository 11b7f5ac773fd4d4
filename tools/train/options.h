/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TRAIN_OPTIONS_H
#define KOLK_TRAIN_OPTIONS_H

#include "place.h"

typedef struct train_options {
    const char *file;
    const char *stats; /* where to write the snapshot, or NULL */
    train_choice device;
    int64_t steps, seed, interval;
    int64_t context, embed, hidden;
    int64_t batch; /* characters in a minibatch, at most */
    int64_t limit; /* bytes of the file, at most */
    double learning_rate;
    bool json, help;
} train_options;

/* What is not given has its default. INVALID_ARGUMENT names the option, the
 * value and what it may be. */
KOLK_NODISCARD kolk_status train_options_parse(int argc, char **argv,
                                               train_options *out);

/* The manual, on stdout. */
void train_options_explain(void);

#endif
