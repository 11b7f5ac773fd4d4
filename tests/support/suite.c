/* SPDX-License-Identifier: MIT */
#include "suite.h"
#include <stdlib.h>

enum { SKIPPED = 77 };

int kolk_run_suite(Suite *suite)
{
    SRunner *const runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int run = srunner_ntests_run(runner);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    if (run == 0)
        return SKIPPED;
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
