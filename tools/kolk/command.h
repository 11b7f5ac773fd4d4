/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TOOL_COMMAND_H
#define KOLK_TOOL_COMMAND_H

/* What a subcommand is made of. A new one is a row in main.c and a function; a
 * new option is a row of the list below. */

#include "page.h"
#include "snapshot.h"

typedef enum kolk_exit {
    KOLK_EXIT_FINE = 0,
    KOLK_EXIT_FINDING = 1,
    KOLK_EXIT_USAGE = 2,
    KOLK_EXIT_INPUT = 3,
    KOLK_EXIT_PIPE = 141 /* what a shell calls an end by SIGPIPE */
} kolk_exit;

/*    name   letter  long     argument  what it does */
#define KOLK_OPTION_LIST(X)                                                    \
    X(JSON, 'j', "json", NULL, "print one JSON document, for machines")        \
    X(BYTES, 'b', "bytes", NULL, "print sizes as numbers of bytes")            \
    X(ROWS, 'n', "rows", "N", "print at most N rows of a table or map (20)")   \
    X(ASCII, 'a', "ascii", NULL, "draw with ASCII characters only")            \
    X(COLOR, 'c', "color", "WHEN", "use colour: auto, always or never (auto)") \
    X(HELP, 'h', "help", NULL, "explain the command")

typedef enum kolk_option_bit {
#define X(name, letter, text, argument, help) KOLK_OPTION_##name,
    KOLK_OPTION_LIST(X)
#undef X
} kolk_option_bit;

#define KOLK_ACCEPTS(name) (1u << KOLK_OPTION_##name)

typedef struct kolk_options {
    unsigned given; /* KOLK_ACCEPTS of each option that was there */
    kolk_page page; /* standard output, as wanted */
    char *const *operands;
    size_t operand_count;
} kolk_options;

typedef struct kolk_command {
    const char *name;
    const char *operands; /* as shown in help */
    size_t least, most;   /* how many */
    unsigned accepts;
    const char *summary;
    kolk_exit (*run)(const kolk_options *options);
} kolk_command;

kolk_exit kolk_run_dump(const kolk_options *options);
kolk_exit kolk_run_check(const kolk_options *options);

/* Reads what follows the command's name. False: a complaint was printed. */
bool kolk_options_parse(const kolk_command *command, int argc, char **argv,
                        kolk_options *out);

/* One line an option that the command accepts. */
void kolk_options_describe(const kolk_command *command, FILE *file);

/* Reads a snapshot from a file, "-" being standard input. NULL: a complaint was
 * printed. */
kolk_snapshot *kolk_load(const char *path);

/* Prints "kolk: ..." and a line end to standard error. */
void kolk_complain(const char *fmt, ...) KOLK_PRINTF(1, 2);

#endif
