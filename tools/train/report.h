/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TRAIN_REPORT_H
#define KOLK_TRAIN_REPORT_H

/* What the program prints. */

#include "loop.h"

/* One line, on stdout. */
void train_report_progress(const train_progress *progress);

void train_report_start(const train_text *text, const train_place *place);
void train_report_summary(const train_result *result);
/* The same for machines: one object on one line. */
void train_report_json(const train_result *result, const train_place *place,
                       const train_options *options);

#endif
