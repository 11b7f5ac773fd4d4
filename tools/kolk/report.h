/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TOOL_REPORT_H
#define KOLK_TOOL_REPORT_H

#include "check.h"
#include "page.h"

/* Every identity with what was found, then one line that counts. */
void kolk_report_print(const kolk_page *page, const kolk_findings *findings);

/* The same as one document, "schema":"kolk-check/1". False if there was no memory
 * to make it. */
bool kolk_report_json(FILE *file, const kolk_findings *findings);

#endif
