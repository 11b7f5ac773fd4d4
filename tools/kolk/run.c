/* SPDX-License-Identifier: MIT */

#include "command.h"
#include "dump.h"
#include "report.h"

static kolk_exit complain_of_memory(void)
{
    kolk_complain("no memory is left");
    return KOLK_EXIT_INPUT;
}

kolk_exit kolk_run_dump(const kolk_options *options)
{
    kolk_snapshot *snapshot KOLK_AUTO(kolk_snapshot_destroy) =
        kolk_load(options->operands[0]);
    if (snapshot == NULL)
        return KOLK_EXIT_INPUT;
    if ((options->given & KOLK_ACCEPTS(JSON)) == 0)
        kolk_dump_print(&options->page, snapshot);
    else if (!kolk_dump_json(options->page.file, snapshot))
        return complain_of_memory();
    return KOLK_EXIT_FINE;
}

kolk_exit kolk_run_check(const kolk_options *options)
{
    kolk_findings findings;
    kolk_snapshot *snapshot KOLK_AUTO(kolk_snapshot_destroy) =
        kolk_load(options->operands[0]);
    if (snapshot == NULL)
        return KOLK_EXIT_INPUT;
    if (!kolk_snapshot_check(snapshot, &findings))
        return complain_of_memory();
    if ((options->given & KOLK_ACCEPTS(JSON)) == 0)
        kolk_report_print(&options->page, &findings);
    else if (!kolk_report_json(options->page.file, &findings))
        return complain_of_memory();
    return findings.violated == 0 ? KOLK_EXIT_FINE : KOLK_EXIT_FINDING;
}
