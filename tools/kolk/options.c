/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700

#include "command.h"
#include <getopt.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS_DEFAULT = 20, ROWS_MOST = 100000 };

typedef struct option_row {
    char letter;
    const char *name, *argument, *help;
} option_row;

static const option_row rows[] = {
#define X(name, letter, text, argument, help) {letter, text, argument, help},
    KOLK_OPTION_LIST(X)
#undef X
};

enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

void kolk_options_describe(const kolk_command *command, FILE *file)
{
    for (unsigned i = 0; i < ROW_COUNT; i++) {
        char left[32];
        if ((command->accepts & 1u << i) == 0)
            continue;
        (void)snprintf(left, sizeof left, "-%c, --%s%s%s", rows[i].letter, rows[i].name,
                       rows[i].argument == NULL ? "" : "=",
                       rows[i].argument == NULL ? "" : rows[i].argument);
        fprintf(file, "  %-20s %s\n", left, rows[i].help);
    }
}

/* ---- values -------------------------------------------------------------- */

static bool set_rows(kolk_page *page, const char *text)
{
    char *end;
    const unsigned long rows_wanted = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || rows_wanted < 1 ||
        rows_wanted > ROWS_MOST) {
        kolk_complain("--rows is \"%s\", not a number from 1 to %d", text, ROWS_MOST);
        return false;
    }
    page->rows = rows_wanted;
    return true;
}

static bool is_set(const char *variable)
{
    const char *const value = getenv(variable);
    return value != NULL && value[0] != '\0';
}

/* What the environment and the terminal want. */
static bool is_colour_welcome(void)
{
    const char *const terminal = getenv("TERM");
    const char *const force = getenv("CLICOLOR_FORCE");
    const bool is_forced = force != NULL && force[0] != '\0' && strcmp(force, "0") != 0;
    if (is_set("NO_COLOR"))
        return false;
    if (is_forced)
        return true;
    return isatty(STDOUT_FILENO) && terminal != NULL && strcmp(terminal, "dumb") != 0;
}

static bool set_colour(kolk_page *page, const char *text)
{
    if (strcmp(text, "auto") == 0)
        page->has_colour = is_colour_welcome();
    else if (strcmp(text, "always") == 0 || strcmp(text, "never") == 0)
        page->has_colour = text[0] == 'a';
    else
        kolk_complain("--color is \"%s\", not auto, always or never", text);
    return text[0] == 'a' ? strcmp(text, "auto") == 0 || strcmp(text, "always") == 0
                          : strcmp(text, "never") == 0;
}

static bool set_option(kolk_options *options, kolk_option_bit option)
{
    options->given |= 1u << option;
    switch (option) {
    case KOLK_OPTION_BYTES:
        options->page.has_raw_bytes = true;
        return true;
    case KOLK_OPTION_ROWS:
        return set_rows(&options->page, optarg);
    case KOLK_OPTION_ASCII:
        options->page.is_utf8 = false;
        return true;
    case KOLK_OPTION_COLOR:
        return set_colour(&options->page, optarg);
    case KOLK_OPTION_JSON:
    case KOLK_OPTION_HELP:
        return true;
    }
    return false;
}

/* ---- the command line ---------------------------------------------------- */

/* getopt_long takes any beginning of a name that fits one option only; scripts
 * written that way break when an option is added. So names must be whole. */
static bool is_whole(const kolk_command *command, const char *argument)
{
    const size_t length = strcspn(argument + 2, "=");
    for (unsigned i = 0; i < ROW_COUNT; i++)
        if ((command->accepts & 1u << i) != 0 && strlen(rows[i].name) == length &&
            strncmp(rows[i].name, argument + 2, length) == 0)
            return true;
    return false;
}

static bool are_whole(const kolk_command *command, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strncmp(argv[i], "--", 2) == 0 && !is_whole(command, argv[i])) {
            kolk_complain("%s has no option %s: see kolk help %s", command->name,
                          argv[i], command->name);
            return false;
        }
    return true;
}

static void make_getopt(const kolk_command *command, struct option *longs,
                        char *letters)
{
    *letters++ = ':';
    for (unsigned i = 0; i < ROW_COUNT; i++) {
        if ((command->accepts & 1u << i) == 0)
            continue;
        const bool has_argument = rows[i].argument != NULL;
        *longs++ = (struct option){rows[i].name, has_argument, NULL, rows[i].letter};
        *letters++ = rows[i].letter;
        if (has_argument)
            *letters++ = ':';
    }
    *longs = (struct option){0};
    *letters = '\0';
}

static bool take_options(const kolk_command *command, int argc, char **argv,
                         kolk_options *out)
{
    struct option longs[ROW_COUNT + 1];
    char letters[2 * ROW_COUNT + 2];
    make_getopt(command, longs, letters);
    for (;;) {
        const int letter = getopt_long(argc, argv, letters, longs, NULL);
        if (letter == -1)
            return true;
        if (letter == '?' || letter == ':') {
            kolk_complain(letter == ':' ? "%s: %s needs an argument"
                                        : "%s cannot take %s",
                          command->name, argv[optind - 1]);
            return false;
        }
        for (unsigned i = 0; i < ROW_COUNT; i++)
            if (rows[i].letter == letter && !set_option(out, (kolk_option_bit)i))
                return false;
    }
}

static bool count_operands(const kolk_command *command, const kolk_options *options)
{
    if ((options->given & KOLK_ACCEPTS(HELP)) != 0 ||
        (options->operand_count >= command->least &&
         options->operand_count <= command->most))
        return true;
    kolk_complain("%s got %zu operands; usage: kolk %s [options] %s", command->name,
                  options->operand_count, command->name, command->operands);
    return false;
}

bool kolk_options_parse(const kolk_command *command, int argc, char **argv,
                        kolk_options *out)
{
    *out = (kolk_options){.page = {.file = stdout, .rows = ROWS_DEFAULT}};
    out->page.is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    out->page.has_colour = is_colour_welcome();
    if (!are_whole(command, argc, argv) || !take_options(command, argc, argv, out))
        return false;
    out->operands = argv + optind;
    out->operand_count = (size_t)(argc - optind);
    return count_operands(command, out);
}
