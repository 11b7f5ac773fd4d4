/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TOOL_TABLE_H
#define KOLK_TOOL_TABLE_H

/* A table of short cells: the first column to the left, the others to the right,
 * each as wide as its widest cell. Nothing is printed before it ends. */

#include "page.h"

enum { KOLK_TABLE_COLUMNS = 8 };

typedef struct kolk_table {
    const kolk_page *page;
    const char *const *heads;
    size_t columns;
    size_t used, capacity; /* cells */
    char (*cells)[KOLK_CELL_SIZE];
    kolk_ink *inks; /* of the first cell, by row */
    size_t left_out;
} kolk_table;

/* `heads` end with NULL and outlive the table. */
kolk_table kolk_table_begin(const kolk_page *page, const char *const *heads);

/* A new row, or false if the page has had enough: it is then only counted. */
bool kolk_table_row(kolk_table *table, kolk_ink ink);

/* Cells of the row, from left to right. */
void kolk_table_text(kolk_table *table, const char *text);
void kolk_table_bytes(kolk_table *table, uint64_t bytes);
void kolk_table_count(kolk_table *table, uint64_t count);
void kolk_table_percent(kolk_table *table, uint64_t part, uint64_t whole);
void kolk_table_duration(kolk_table *table, uint64_t nanoseconds);

/* Prints the table, if it has rows, and frees it. */
void kolk_table_end(kolk_table *table);

#endif
