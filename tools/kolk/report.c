/* SPDX-License-Identifier: MIT */

#include "report.h"
#include "make.h"
#include <inttypes.h>

static void print_identity(const kolk_page *page, const kolk_identity *identity)
{
    const bool holds = identity->violations == 0;
    kolk_page_ink(page, holds ? KOLK_INK_GOOD : KOLK_INK_BAD);
    fputs(holds ? "ok  " : "FAIL", page->file);
    kolk_page_ink(page, KOLK_INK_PLAIN);
    fprintf(page->file, "  %s\n", identity->name);
    if (holds)
        return;
    fputs("      ", page->file);
    kolk_page_text(page, identity->detail, sizeof identity->detail);
    if (identity->violations > 1)
        fprintf(page->file, ", and %" PRIu64 " more", identity->violations - 1);
    putc('\n', page->file);
}

void kolk_report_print(const kolk_page *page, const kolk_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        print_identity(page, &findings->identities[i]);
    if (findings->violated == 0)
        fprintf(page->file, "%zu identities hold\n", findings->count);
    else
        fprintf(page->file, "%zu of %zu identities are violated\n", findings->violated,
                findings->count);
}

static json_t *make_identity(kolk_maker *m, const kolk_identity *identity)
{
    json_t *const row = json_object();
    kolk_make_set(m, row, "name", json_string(identity->name));
    kolk_make_set(m, row, "violations", kolk_make_number(identity->violations));
    if (identity->violations != 0)
        kolk_make_set(m, row, "first", json_string(identity->detail));
    return row;
}

bool kolk_report_json(FILE *file, const kolk_findings *findings)
{
    kolk_maker m = kolk_make_begin();
    json_t *const root = json_object(), *const rows = json_array();
    for (size_t i = 0; i < findings->count; i++)
        kolk_make_append(&m, rows, make_identity(&m, &findings->identities[i]));
    kolk_make_set(&m, root, "schema", json_string("kolk-check/1"));
    kolk_make_set(&m, root, "violated", kolk_make_number(findings->violated));
    kolk_make_set(&m, root, "identities", rows);
    return kolk_make_end(&m, root, file);
}
