/* SPDX-License-Identifier: MIT */
#include "report.h"

#include <inttypes.h>
#include <stdio.h>

static double mebibytes(uint64_t bytes)
{
    return (double)bytes / (1 << 20);
}

static const char *name_of(const train_place *place)
{
    return place->device.kind == KOLK_CUDA ? "cuda:0" : "host";
}

void train_report_start(const train_text *text, const train_place *place)
{
    printf("%" PRId64 " characters, %d different, %" PRId64
           " lines to learn from, %" PRId64 " held out, on %s\n",
           text->count, text->vocabulary, text->train.count, text->held_out.count,
           name_of(place));
    printf("%8s  %7s  %8s  %13s  %13s  %9s\n", "step", "loss", "tokens/s", "allocated",
           "reserved", "hits");
    (void)fflush(stdout);
}

void train_report_progress(const train_progress *p)
{
    printf("%8" PRId64 "  %7.4f  %8.0f  %9.1f MiB  %9.1f MiB  %7.2f %%\n", p->step,
           p->loss, p->characters_per_second, mebibytes(p->allocated),
           mebibytes(p->reserved), 100.0 * p->hit_rate);
    (void)fflush(stdout);
}

void train_report_summary(const train_result *r)
{
    printf("\n%" PRId64 " steps, %" PRId64 " characters in %.1f s\n", r->steps,
           r->characters, r->seconds);
    printf("loss       first %.4f, last %.4f, held out %.4f; unigram entropy %.4f\n",
           r->loss_first, r->loss_last, r->loss_heldout, r->unigram_entropy);
    printf("memory     peak requested %.2f MiB, reserved %.2f MiB; without a pool %.2f "
           "MiB\n",
           mebibytes(r->peak_requested), mebibytes(r->peak_reserved),
           mebibytes(r->naive_peak));
    printf("driver     %g calls for memory per step after the second\n",
           r->driver_calls_per_step_after_2);
}

void train_report_json(const train_result *r, const train_place *place,
                       const train_options *options)
{
    printf("{\"loss_first\":%.9g,\"loss_last\":%.9g,\"loss_heldout\":%.9g,"
           "\"unigram_entropy\":%.9g,\"steps\":%" PRId64 ",\"seed\":%" PRId64
           ",\"device\":\"%s\",",
           r->loss_first, r->loss_last, r->loss_heldout, r->unigram_entropy, r->steps,
           options->seed, name_of(place));
    printf("\"driver_calls_per_step_after_2\":%.9g,\"peak_requested_bytes\":%" PRIu64
           ",\"peak_reserved_bytes\":%" PRIu64 ",\"naive_peak_bytes\":%" PRIu64
           ",\"characters\":%" PRId64 ",\"seconds\":%.6f}\n",
           r->driver_calls_per_step_after_2, r->peak_requested, r->peak_reserved,
           r->naive_peak, r->characters, r->seconds);
}
