/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TOOL_PAGE_H
#define KOLK_TOOL_PAGE_H

/* What is printed for people: 80 columns, with or without colour, in UTF-8 or in
 * ASCII. Strings from a file never reach a terminal but through here. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { KOLK_PAGE_WIDTH = 80, KOLK_CELL_SIZE = 48 };

typedef enum kolk_ink {
    KOLK_INK_PLAIN,
    KOLK_INK_TITLE,
    KOLK_INK_FAINT,
    KOLK_INK_GOOD,
    KOLK_INK_BAD,
    KOLK_INK_SERIES /* the first of eight colours that tell things apart */
} kolk_ink;

enum { KOLK_INK_SERIES_COUNT = 8 };

typedef struct kolk_page {
    FILE *file;
    bool has_colour;
    bool is_utf8;
    bool has_raw_bytes; /* sizes as numbers of bytes */
    size_t rows;        /* most rows of a table or map */
} kolk_page;

void kolk_page_ink(const kolk_page *page, kolk_ink ink);

/* At most `width` columns of a string that anybody may have written. What does
 * not print becomes '?'. */
void kolk_page_text(const kolk_page *page, const char *text, size_t width);

/* A line for the start of a part, after an empty line. */
void kolk_page_title(const kolk_page *page, const char *title);

/* "1.5 MiB", or the digits if the page wants raw bytes. */
void kolk_page_bytes(const kolk_page *page, uint64_t bytes, char out[KOLK_CELL_SIZE]);

/* "12.3 %", "-" if `whole` is 0. */
void kolk_page_percent(uint64_t part, uint64_t whole, char out[KOLK_CELL_SIZE]);

/* "1.23 ms". */
void kolk_page_duration(uint64_t nanoseconds, char out[KOLK_CELL_SIZE]);

#endif
