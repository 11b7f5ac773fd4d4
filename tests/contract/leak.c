/* SPDX-License-Identifier: MIT */

/* Loses a record of 4321 bytes if it is given an argument. For Valgrind. */

#include "host_memory.h"

static void *volatile record;

int main(int argc, char **argv)
{
    (void)argv;
    record = kolk_host_alloc(4321);
    if (argc == 1)
        kolk_host_free(record);
    record = NULL;
    return 0;
}
