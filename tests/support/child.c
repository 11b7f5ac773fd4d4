/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "child.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int status_of(bool (*body)(void))
{
    int status = 0;
    fflush(NULL); /* or the child would print it again */
    const pid_t child = fork();
    if (child == 0)
        exit(body() ? EXIT_SUCCESS : EXIT_FAILURE);
    if (child < 0 || waitpid(child, &status, 0) != child)
        abort();
    return status;
}

bool child_succeeds(bool (*body)(void))
{
    const int status = status_of(body);
    return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
}

bool child_aborts(bool (*body)(void))
{
    const int status = status_of(body);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}
