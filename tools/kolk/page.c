/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700

#include "page.h"
#include <inttypes.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

static const char *const inks[] = {
    [KOLK_INK_PLAIN] = "0",
    [KOLK_INK_TITLE] = "1",
    [KOLK_INK_FAINT] = "2",
    [KOLK_INK_GOOD] = "32",
    [KOLK_INK_BAD] = "1;31",
    [KOLK_INK_SERIES] = "37",
    "34",
    "35",
    "32",
    "33",
    "36",
    "94",
    "31",
};

_Static_assert(sizeof inks / sizeof inks[0] == KOLK_INK_SERIES + KOLK_INK_SERIES_COUNT,
               "each ink has its code");

void kolk_page_ink(const kolk_page *page, kolk_ink ink)
{
    if (page->has_colour)
        fprintf(page->file, "\033[%sm", inks[ink]);
}

/* The character at `text`: its bytes and columns; a bad one is a '?' of one. */
static size_t character(const kolk_page *page, const char *text, size_t *out_columns,
                        bool *out_prints)
{
    wchar_t wide = 0;
    mbstate_t state = {0};
    const unsigned char byte = (unsigned char)*text;
    *out_columns = 1;
    *out_prints = byte >= 0x20 && byte < 0x7f;
    if (byte < 0x80 || !page->is_utf8)
        return 1;
    const size_t size = mbrtowc(&wide, text, strlen(text), &state);
    if (size == (size_t)-1 || size == (size_t)-2)
        return 1;
    const int columns = iswprint((wint_t)wide) ? wcwidth(wide) : 0;
    *out_prints = columns > 0;
    *out_columns = columns > 0 ? (size_t)columns : 1;
    return size;
}

void kolk_page_text(const kolk_page *page, const char *text, size_t width)
{
    size_t used = 0;
    while (*text != '\0') {
        size_t columns;
        bool prints;
        const size_t size = character(page, text, &columns, &prints);
        if (used + columns > width)
            return;
        if (prints)
            fwrite(text, 1, size, page->file);
        else
            putc('?', page->file);
        used += columns;
        text += size;
    }
}

void kolk_page_title(const kolk_page *page, const char *title)
{
    putc('\n', page->file);
    kolk_page_ink(page, KOLK_INK_TITLE);
    fputs(title, page->file);
    kolk_page_ink(page, KOLK_INK_PLAIN);
    putc('\n', page->file);
}

void kolk_page_bytes(const kolk_page *page, uint64_t bytes, char out[KOLK_CELL_SIZE])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t unit = 0;
    double value = (double)bytes;
    /* 1023.95 would be printed as 1024.0 */
    for (; value >= 1023.95 && unit < 6; unit++)
        value /= 1024;
    if (page->has_raw_bytes)
        (void)snprintf(out, KOLK_CELL_SIZE, "%" PRIu64, bytes);
    else
        (void)snprintf(out, KOLK_CELL_SIZE, "%.*f %s", unit == 0 ? 0 : 1, value,
                       units[unit]);
}

void kolk_page_percent(uint64_t part, uint64_t whole, char out[KOLK_CELL_SIZE])
{
    if (whole == 0)
        (void)snprintf(out, KOLK_CELL_SIZE, "-");
    else
        (void)snprintf(out, KOLK_CELL_SIZE, "%.1f %%",
                       100.0 * (double)part / (double)whole);
}

void kolk_page_duration(uint64_t nanoseconds, char out[KOLK_CELL_SIZE])
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    size_t unit = 0;
    double value = (double)nanoseconds;
    for (; value >= 999.95 && unit < 3; unit++)
        value /= 1000;
    (void)snprintf(out, KOLK_CELL_SIZE, "%.*f %s", unit == 0 ? 0 : 1, value,
                   units[unit]);
}
