/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TOOL_DUMP_H
#define KOLK_TOOL_DUMP_H

#include "page.h"
#include "snapshot.h"

/* A snapshot for people. */
void kolk_dump_print(const kolk_page *page, const kolk_snapshot *snapshot);

/* The same for machines: one JSON document, "schema":"kolk-dump/1". False if
 * there was no memory to make it. */
bool kolk_dump_json(FILE *file, const kolk_snapshot *snapshot);

#endif
