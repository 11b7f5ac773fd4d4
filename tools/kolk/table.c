/* SPDX-License-Identifier: MIT */

#include "table.h"
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { GAP = 2, INDENT = 2, LONGEST_TEXT = 20 };

kolk_table kolk_table_begin(const kolk_page *page, const char *const *heads)
{
    kolk_table table = {.page = page, .heads = heads};
    while (heads[table.columns] != NULL)
        table.columns++;
    return table;
}

static bool grow(kolk_table *table)
{
    const size_t rows = table->capacity / table->columns * 2 + 16;
    const size_t capacity = rows * table->columns;
    void *const cells = realloc(table->cells, capacity * sizeof *table->cells);
    if (cells != NULL)
        table->cells = cells;
    void *const inks = realloc(table->inks, rows * sizeof *table->inks);
    if (inks != NULL)
        table->inks = inks;
    if (cells == NULL || inks == NULL)
        return false;
    table->capacity = capacity;
    return true;
}

bool kolk_table_row(kolk_table *table, kolk_ink ink)
{
    const size_t row = table->used / table->columns;
    if (row >= table->page->rows || (table->used == table->capacity && !grow(table))) {
        table->left_out++;
        return false;
    }
    table->inks[row] = ink;
    return true;
}

static char *next_cell(kolk_table *table)
{
    return table->cells[table->used++];
}

void kolk_table_text(kolk_table *table, const char *text)
{
    (void)snprintf(next_cell(table), KOLK_CELL_SIZE, "%.*s", LONGEST_TEXT, text);
}

void kolk_table_bytes(kolk_table *table, uint64_t bytes)
{
    kolk_page_bytes(table->page, bytes, next_cell(table));
}

void kolk_table_count(kolk_table *table, uint64_t count)
{
    (void)snprintf(next_cell(table), KOLK_CELL_SIZE, "%" PRIu64, count);
}

void kolk_table_percent(kolk_table *table, uint64_t part, uint64_t whole)
{
    kolk_page_percent(part, whole, next_cell(table));
}

void kolk_table_duration(kolk_table *table, uint64_t nanoseconds)
{
    kolk_page_duration(nanoseconds, next_cell(table));
}

/* ---- printing ------------------------------------------------------------ */

static size_t width_of(const kolk_table *table, size_t column)
{
    size_t width = strlen(table->heads[column]);
    for (size_t i = column; i < table->used; i += table->columns) {
        const size_t size = strlen(table->cells[i]);
        width = size > width ? size : width;
    }
    return width;
}

static void pad(const kolk_table *table, size_t count)
{
    fprintf(table->page->file, "%*s", (int)count, "");
}

static void print_cell(const kolk_table *table, size_t column, size_t width,
                       const char *text, kolk_ink ink)
{
    const size_t blanks = width - strlen(text);
    pad(table, column == 0 ? INDENT : GAP + blanks);
    kolk_page_ink(table->page, ink);
    kolk_page_text(table->page, text, width);
    if (ink != KOLK_INK_PLAIN)
        kolk_page_ink(table->page, KOLK_INK_PLAIN);
    if (column == 0)
        pad(table, blanks);
}

static void print_all(const kolk_table *table)
{
    size_t widths[KOLK_TABLE_COLUMNS];
    assert(table->columns > 0);
    for (size_t column = 0; column < table->columns; column++) {
        widths[column] = width_of(table, column);
        print_cell(table, column, widths[column], table->heads[column], KOLK_INK_FAINT);
    }
    putc('\n', table->page->file);
    for (size_t i = 0; i < table->used; i++) {
        const size_t column = i % table->columns;
        const kolk_ink ink =
            column == 0 ? table->inks[i / table->columns] : KOLK_INK_PLAIN;
        print_cell(table, column, widths[column], table->cells[i], ink);
        if (column + 1 == table->columns)
            putc('\n', table->page->file);
    }
}

void kolk_table_end(kolk_table *table)
{
    if (table->used != 0)
        print_all(table);
    if (table->left_out != 0)
        fprintf(table->page->file, "  and %zu more, see --rows\n", table->left_out);
    free(table->cells);
    free(table->inks);
    *table = (kolk_table){0};
}
