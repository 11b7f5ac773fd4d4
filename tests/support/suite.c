/* SPDX-License-Identifier: MIT */
#include "suite.h"
#include <stdlib.h>

enum { SKIPPED = 77 };

static int run(SRunner *runner)
{
    srunner_run_all(runner, CK_NORMAL);
    const int count = srunner_ntests_run(runner);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    if (count == 0)
        return SKIPPED;
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int kolk_run_suite(Suite *suite)
{
    return run(srunner_create(suite));
}

int kolk_run_suite_unforked(Suite *suite)
{
    SRunner *const runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    return run(runner);
}
