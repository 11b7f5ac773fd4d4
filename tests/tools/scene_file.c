/* SPDX-License-Identifier: MIT */

/* scene_file PATH [ROUNDS]: the snapshot of a pool that has seen something. */

#include "scene.h"
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    const int rounds = argc > 2 ? atoi(argv[2]) : 20;
    if (argc < 2)
        return EXIT_FAILURE;
    if (scene_write(argv[1], rounds, false) == KOLK_OK)
        return EXIT_SUCCESS;
    fprintf(stderr, "%s\n", kolk_last_error()->message);
    return EXIT_FAILURE;
}
