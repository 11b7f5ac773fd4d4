/* SPDX-License-Identifier: MIT */

#include "command.h"
#include <errno.h>
#include <locale.h>
#include <stdarg.h>
#include <string.h>

static kolk_exit run_help(const kolk_options *options);
static kolk_exit run_version(const kolk_options *options);

static const kolk_command commands[] = {
    {"dump", "FILE", 1, 1,
     KOLK_ACCEPTS(JSON) | KOLK_ACCEPTS(BYTES) | KOLK_ACCEPTS(ROWS) |
         KOLK_ACCEPTS(ASCII) | KOLK_ACCEPTS(COLOR) | KOLK_ACCEPTS(HELP),
     "show what a pool held and did", kolk_run_dump},
    {"check", "FILE", 1, 1,
     KOLK_ACCEPTS(JSON) | KOLK_ACCEPTS(COLOR) | KOLK_ACCEPTS(HELP),
     "test whether the numbers of a snapshot fit each other", kolk_run_check},
    {"help", "[COMMAND]", 0, 1, KOLK_ACCEPTS(HELP), "explain a command, or list them",
     run_help},
    {"version", "", 0, 0, KOLK_ACCEPTS(HELP), "print the version", run_version},
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

void kolk_complain(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fputs("kolk: ", stderr);
    vfprintf(stderr, fmt, args);
    putc('\n', stderr);
    va_end(args);
}

/* The words --help and --version are the commands without their dashes. */
static const kolk_command *find_command(const char *name)
{
    if (strcmp(name, "--help") == 0 || strcmp(name, "--version") == 0)
        name += 2;
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(name, commands[i].name) == 0)
            return &commands[i];
    return NULL;
}

/* ---- help ---------------------------------------------------------------- */

static void print_commands(FILE *file)
{
    fputs("usage: kolk COMMAND [options] [FILE]\n"
          "\nLooks into the memory pools of kolk, by the snapshots they write.\n\n",
          file);
    for (int i = 0; i < COMMAND_COUNT; i++)
        fprintf(file, "  %-8s %-10s %s\n", commands[i].name, commands[i].operands,
                commands[i].summary);
    fputs("\nFILE is a snapshot, or - for standard input.\n"
          "Exit status: 0 fine, 1 a finding, 2 wrong usage, 3 unreadable input.\n",
          file);
}

static void print_command(const kolk_command *command, FILE *file)
{
    fprintf(file, "usage: kolk %s [options] %s\n\n%s\n\n", command->name,
            command->operands, command->summary);
    kolk_options_describe(command, file);
}

static kolk_exit run_help(const kolk_options *options)
{
    if (options->operand_count == 0) {
        print_commands(stdout);
        return KOLK_EXIT_FINE;
    }
    const kolk_command *const command = find_command(options->operands[0]);
    if (command == NULL) {
        kolk_complain("there is no command %s: see kolk help", options->operands[0]);
        return KOLK_EXIT_USAGE;
    }
    print_command(command, stdout);
    return KOLK_EXIT_FINE;
}

static kolk_exit run_version(const kolk_options *options)
{
    fprintf(options->page.file, "kolk %s\n", KOLK_VERSION);
    return KOLK_EXIT_FINE;
}

/* ---- the program --------------------------------------------------------- */

static kolk_exit run(int argc, char **argv)
{
    kolk_options options;
    const kolk_command *const command = argc < 2 ? NULL : find_command(argv[1]);
    if (command == NULL) {
        if (argc < 2)
            print_commands(stderr);
        else
            kolk_complain("there is no command %s: see kolk help", argv[1]);
        return KOLK_EXIT_USAGE;
    }
    if (!kolk_options_parse(command, argc - 1, argv + 1, &options))
        return KOLK_EXIT_USAGE;
    if ((options.given & KOLK_ACCEPTS(HELP)) == 0)
        return command->run(&options);
    print_command(command, stdout);
    return KOLK_EXIT_FINE;
}

/* What was printed counts only once it has been taken. Who stops reading is told
 * nothing: they know. */
static kolk_exit finish(kolk_exit status)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    if (errno == EPIPE)
        return KOLK_EXIT_PIPE;
    kolk_complain("standard output: %s", strerror(errno != 0 ? errno : EIO));
    return KOLK_EXIT_INPUT;
}

int main(int argc, char **argv)
{
    (void)setlocale(LC_CTYPE, "");
    return (int)finish(run(argc, argv));
}
