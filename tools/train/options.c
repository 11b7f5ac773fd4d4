/* SPDX-License-Identifier: MIT */
/* One table says all about the options that take a whole number: name, bounds,
 * default and words. Parser, error messages and manual all read it. */
#include "options.h"

#include "failure.h"
#include "text.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEBI (INT64_C(1) << 20)
#define LEARNING_RATE 0.005
#define LEARNING_RATE_MAX 1000.0

struct number {
    const char *name;
    size_t field; /* offset in train_options */
    int64_t smallest, largest, fallback;
    const char *words;
};

#define FIELD(name) offsetof(train_options, name)

static const struct number numbers[] = {
    {"steps", FIELD(steps), 1, 1000000000, 200, "minibatches to learn from"},
    {"seed", FIELD(seed), 0, INT64_MAX, 1,
     "of the first weights and the order of lines"},
    {"interval", FIELD(interval), 1, 1000000000, 20, "steps between lines of progress"},
    {"context", FIELD(context), 1, 1024, 8, "characters that tell the next one"},
    {"embed", FIELD(embed), 1, 4096, 32, "numbers that stand for a character"},
    {"hidden", FIELD(hidden), 1, 65536, 256, "hidden units"},
    {"batch", FIELD(batch), TRAIN_LINE_MAX, MEBI, 1024,
     "characters in a minibatch, at most"},
    {"limit", FIELD(limit), 1, INT64_MAX - 1, 256 * MEBI,
     "bytes read of FILE, at most"},
};

enum { NUMBERS = sizeof numbers / sizeof *numbers };
enum { DEVICE = NUMBERS, RATE, STATS, JSON, HELP, OPTIONS };

static const struct {
    const char *name;
    int has_value;
} others[OPTIONS - NUMBERS] = {
    {"device", required_argument}, {"lr", required_argument},
    {"stats", required_argument},  {"json", no_argument},
    {"help", no_argument},
};

static int64_t *field_of(train_options *options, const struct number *number)
{
    return (int64_t *)(void *)((char *)options + number->field);
}

static kolk_status parse_number(const struct number *number, const char *text,
                                train_options *options)
{
    char *end;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0')
        return train_fail(KOLK_INVALID_ARGUMENT,
                          "--%s '%s' is not a whole number from %" PRId64
                          " to %" PRId64,
                          number->name, text, number->smallest, number->largest);
    if (errno == ERANGE || value < number->smallest || value > number->largest)
        return train_fail(KOLK_INVALID_ARGUMENT,
                          "--%s %s is out of bounds: from %" PRId64 " to %" PRId64,
                          number->name, text, number->smallest, number->largest);
    *field_of(options, number) = value;
    return KOLK_OK;
}

static kolk_status parse_rate(const char *text, train_options *options)
{
    char *end;
    const double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value > 0.0 && value <= LEARNING_RATE_MAX))
        return train_fail(KOLK_INVALID_ARGUMENT,
                          "--lr '%s' is not a number above 0 and up to %g", text,
                          LEARNING_RATE_MAX);
    options->learning_rate = value;
    return KOLK_OK;
}

static kolk_status parse_device(const char *text, train_options *options)
{
    static const char *const names[] = {
        [TRAIN_AUTO] = "auto", [TRAIN_HOST] = "host", [TRAIN_CUDA] = "cuda"};
    for (train_choice choice = TRAIN_AUTO; choice <= TRAIN_CUDA; choice++)
        if (strcmp(text, names[choice]) == 0) {
            options->device = choice;
            return KOLK_OK;
        }
    return train_fail(KOLK_INVALID_ARGUMENT,
                      "--device '%s' is none of auto, host and cuda", text);
}

static kolk_status take_option(int option, const char *value, train_options *options)
{
    if (option < NUMBERS)
        return parse_number(&numbers[option], value, options);
    switch (option) {
    case DEVICE:
        return parse_device(value, options);
    case RATE:
        return parse_rate(value, options);
    case STATS:
        options->stats = value;
        return KOLK_OK;
    case JSON:
        options->json = true;
        return KOLK_OK;
    default:
        options->help = true;
        return KOLK_OK;
    }
}

static void list_options(struct option *list)
{
    for (int i = 0; i < OPTIONS; i++)
        list[i] = i < NUMBERS
                      ? (struct option){numbers[i].name, required_argument, NULL, i}
                      : (struct option){others[i - NUMBERS].name,
                                        others[i - NUMBERS].has_value, NULL, i};
    list[OPTIONS] = (struct option){0};
}

static train_options defaults(void)
{
    train_options options = {.learning_rate = LEARNING_RATE};
    for (int i = 0; i < NUMBERS; i++)
        *field_of(&options, &numbers[i]) = numbers[i].fallback;
    return options;
}

static kolk_status parse_options(int argc, char **argv, train_options *options)
{
    struct option list[OPTIONS + 1];
    list_options(list);
    opterr = 0;
    optind = 1;
    for (int option; (option = getopt_long(argc, argv, ":", list, NULL)) != -1;) {
        if (option == '?')
            return train_fail(KOLK_INVALID_ARGUMENT,
                              "%s is no option; --help lists them", argv[optind - 1]);
        if (option == ':')
            return train_fail(KOLK_INVALID_ARGUMENT, "%s needs a value",
                              argv[optind - 1]);
        KOLK_TRY(take_option(option, optarg, options));
    }
    return KOLK_OK;
}

kolk_status train_options_parse(int argc, char **argv, train_options *out)
{
    train_options options = defaults();
    KOLK_TRY(parse_options(argc, argv, &options));
    if (!options.help && argc - optind != 1)
        return train_fail(KOLK_INVALID_ARGUMENT,
                          "takes one FILE, got %d; --help tells more", argc - optind);
    options.file = argv[optind];
    *out = options;
    return KOLK_OK;
}

void train_options_explain(void)
{
    puts("usage: kolk-train [OPTION]... FILE\n"
         "Learns to tell the next character of a UTF-8 text from the ones before it,\n"
         "with every buffer from one kolk pool.\n");
    for (int i = 0; i < NUMBERS; i++)
        printf("  --%-8s NUMBER  %s (%" PRId64 ")\n", numbers[i].name, numbers[i].words,
               numbers[i].fallback);
    printf("  --lr       RATE    step size of AdamW (%g)\n", LEARNING_RATE);
    puts("  --device   WHERE   auto, host or cuda (auto: cuda where there is one)\n"
         "  --stats    FILE    write a snapshot of the pool at the end\n"
         "  --json             end with one JSON object instead of a summary\n"
         "  --help             print this\n\n"
         "Every tenth line of FILE is held out. Losses are in nats per character. The\n"
         "unigram entropy is what the frequencies of characters alone, counted in the\n"
         "other lines, would lose on the held-out ones.\n\n"
         "Ctrl-C finishes the step under way, then ends as after the last.\n"
         "Exit status: 0, 2 for wrong usage, 3 for an unreadable FILE, 1 otherwise.");
}
