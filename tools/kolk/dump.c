/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L

#include "dump.h"
#include "check.h"
#include "map.h"
#include "table.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BAR_WIDTH = 76, NAME_WIDTH = 32 };

static uint64_t minus(uint64_t a, uint64_t b)
{
    return a < b ? 0 : a - b;
}

/* The end of a line. */
static void print_note(const kolk_page *page, const char *note)
{
    kolk_page_ink(page, KOLK_INK_FAINT);
    fprintf(page->file, "  %s", note);
    kolk_page_ink(page, KOLK_INK_PLAIN);
    putc('\n', page->file);
}

/* ---- whose snapshot this is ---------------------------------------------- */

static void print_time(const kolk_page *page, uint64_t time_us)
{
    const time_t seconds = (time_t)(time_us / 1000000);
    struct tm parts;
    char text[64];
    if (time_us / 1000000 < UINT64_C(253402300800) &&
        gmtime_r(&seconds, &parts) != NULL &&
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts) != 0)
        fputs(text, page->file);
    else
        fprintf(page->file, "%" PRIu64 " us after 1970", time_us);
}

static void print_device(const kolk_page *page, const kolk_snapshot *s)
{
    char total[KOLK_CELL_SIZE];
    kolk_page_bytes(page, s->device_total, total);
    fputs("on ", page->file);
    kolk_page_text(page, s->device_kind, 16);
    if (s->device_ordinal != 0 || strcmp(s->device_kind, "host") != 0)
        fprintf(page->file, ":%" PRIu64, s->device_ordinal);
    if (strcmp(s->device_kind, s->device_name) != 0) {
        fputs(", ", page->file);
        kolk_page_text(page, s->device_name, NAME_WIDTH);
    }
    fprintf(page->file, " with %s\n", total);
}

static void print_limits(const kolk_page *page, const kolk_snapshot *s)
{
    char limit[KOLK_CELL_SIZE], pages[KOLK_CELL_SIZE];
    kolk_page_bytes(page, s->limit, limit);
    kolk_page_bytes(page, s->page_size, pages);
    fprintf(page->file, "  limit %s, prefers ", s->limit == 0 ? "none" : limit);
    kolk_page_text(page, s->policy, 16);
    if (s->no_pages)
        fputs(", plain device memory\n", page->file);
    else
        fprintf(page->file, ", pages of %s\n", pages);
}

static void print_head(const kolk_page *page, const kolk_snapshot *s)
{
    kolk_page_ink(page, KOLK_INK_TITLE);
    fputs("Pool ", page->file);
    if (s->name[0] != '\0') {
        kolk_page_text(page, s->name, NAME_WIDTH);
        putc(' ', page->file);
    }
    kolk_page_ink(page, KOLK_INK_PLAIN);
    print_device(page, s);
    fputs("  taken ", page->file);
    print_time(page, s->time_us);
    fprintf(page->file, ", process %" PRIu64 ", kolk ", s->process);
    kolk_page_text(page, s->library, 16);
    putc('\n', page->file);
    print_limits(page, s);
}

/* ---- memory -------------------------------------------------------------- */

static void bytes_row(kolk_table *table, const char *label, const kolk_stat *stat,
                      kolk_ink ink)
{
    if (!kolk_table_row(table, ink))
        return;
    kolk_table_text(table, label);
    kolk_table_bytes(table, stat->current);
    kolk_table_bytes(table, stat->peak);
    kolk_table_bytes(table, stat->allocated);
    kolk_table_bytes(table, stat->freed);
}

static void count_row(kolk_table *table, const char *label, const kolk_stat *stat)
{
    if (!kolk_table_row(table, KOLK_INK_PLAIN))
        return;
    kolk_table_text(table, label);
    kolk_table_count(table, stat->current);
    kolk_table_count(table, stat->peak);
    kolk_table_count(table, stat->allocated);
    kolk_table_count(table, stat->freed);
}

static const char *const flow_heads[] = {
    "", "current", "peak", "total allocated", "total freed", NULL};

static void print_memory(const kolk_page *page, const kolk_snapshot *s)
{
    kolk_page_title(page, "Memory");
    kolk_table table = kolk_table_begin(page, flow_heads);
    bytes_row(&table, "requested", &s->requested, KOLK_INK_PLAIN);
    bytes_row(&table, "allocated", &s->allocated, KOLK_INK_PLAIN);
    bytes_row(&table, "active", &s->active, KOLK_INK_PLAIN);
    bytes_row(&table, "reserved", &s->reserved, KOLK_INK_PLAIN);
    count_row(&table, "blocks", &s->blocks);
    count_row(&table, "segments", &s->segments);
    kolk_table_end(&table);
}

/* ---- where the reserved bytes are ---------------------------------------- */

typedef struct share {
    const char *label, *note;
    kolk_glyph glyph;
    uint64_t bytes;
} share;

static void print_bar(const kolk_page *page, const share *shares, size_t count,
                      uint64_t whole)
{
    uint64_t before = 0;
    size_t drawn = 0;
    fputs("  ", page->file);
    for (size_t i = 0; i < count; i++) {
        before += shares[i].bytes;
        const double part = (double)before / (double)whole;
        const size_t end = (size_t)(part * BAR_WIDTH + 0.5);
        for (; drawn < end && drawn < BAR_WIDTH; drawn++)
            fputs(kolk_glyph_text(page, shares[i].glyph), page->file);
    }
    putc('\n', page->file);
}

static void print_share(const kolk_page *page, const share *row, uint64_t whole)
{
    char bytes[KOLK_CELL_SIZE], percent[KOLK_CELL_SIZE];
    kolk_page_bytes(page, row->bytes, bytes);
    kolk_page_percent(row->bytes, whole, percent);
    fprintf(page->file, "  %s %-10s %10s %8s", kolk_glyph_text(page, row->glyph),
            row->label, bytes, percent);
    print_note(page, row->note);
}

static void print_use(const kolk_page *page, const kolk_snapshot *s)
{
    const uint64_t reserved = s->reserved.current;
    const uint64_t active = s->active.current;
    const share shares[] = {
        {"requested", "asked for by callers", KOLK_GLYPH_FULL, s->requested.current},
        {"rounding", "allocated beyond what was asked for", KOLK_GLYPH_SOME,
         minus(s->allocated.current, s->requested.current)},
        {"pending", "freed, but a stream may still use it", KOLK_GLYPH_PENDING,
         minus(active, s->allocated.current)},
        {"free", "ready for the next request", KOLK_GLYPH_FREE,
         minus(minus(reserved, active), s->unmapped)},
        {"unmapped", "pages held, at no address", KOLK_GLYPH_NONE, s->unmapped},
    };
    const size_t count = sizeof shares / sizeof shares[0];
    kolk_page_title(page, "Where the reserved bytes are");
    if (reserved == 0) {
        fputs("  nothing is reserved\n", page->file);
        return;
    }
    print_bar(page, shares, count, reserved);
    for (size_t i = 0; i < count; i++)
        print_share(page, &shares[i], reserved);
}

/* ---- figures ------------------------------------------------------------- */

static void print_figure(const kolk_page *page, const char *label, const char *value,
                         const char *note)
{
    fprintf(page->file, "  %-19s %11s", label, value);
    print_note(page, note);
}

static void bytes_figure(const kolk_page *page, const char *label, uint64_t bytes,
                         const char *note)
{
    char value[KOLK_CELL_SIZE];
    kolk_page_bytes(page, bytes, value);
    print_figure(page, label, value, note);
}

static void percent_figure(const kolk_page *page, const char *label, uint64_t part,
                           uint64_t whole, const char *note)
{
    char value[KOLK_CELL_SIZE];
    kolk_page_percent(part, whole, value);
    print_figure(page, label, value, note);
}

static void count_figure(const kolk_page *page, const char *label, uint64_t count,
                         const char *note)
{
    char value[KOLK_CELL_SIZE];
    (void)snprintf(value, sizeof value, "%" PRIu64, count);
    print_figure(page, label, value, note);
}

static void print_figures(const kolk_page *page, const kolk_snapshot *s)
{
    const uint64_t free_bytes = minus(s->reserved.current, s->active.current);
    const uint64_t returnable = kolk_snapshot_returnable(s);
    kolk_page_title(page, "Figures");
    percent_figure(page, "utilisation", s->requested.peak, s->reserved.peak,
                   "peak requested of peak reserved");
    bytes_figure(page, "largest free", s->largest_free, "in one piece");
    percent_figure(page, "fragmentation", minus(free_bytes, s->largest_free),
                   free_bytes, "of free bytes are outside the largest piece");
    bytes_figure(page, "returnable", returnable, "free bytes that a trim gives back");
    bytes_figure(page, "pinned", minus(free_bytes, returnable),
                 "free bytes beside memory in use, in its pages");
    percent_figure(page, "hit rate", s->hits, s->allocs,
                   "of allocations, from the stream's own memory");
    count_figure(page, "allocations", s->allocs, "that gave memory");
    count_figure(page, "retries", s->retries, "had to climb past asking for more");
    count_figure(page, "out of memory", s->ooms, "requests that failed");
    count_figure(page, "misuses", s->misuses, "frees that were refused");
    count_figure(page, "cross-stream waits", s->cross_stream_waits,
                 "put between streams on the device");
    bytes_figure(page, "retired", s->retired, "never to be reused: a fence failed");
    bytes_figure(page, "address space", s->address_space, "reserved from the device");
    bytes_figure(page, "bookkeeping", s->bookkeeping, "host memory of the pool itself");
}

/* ---- tables -------------------------------------------------------------- */

static void print_tags(const kolk_page *page, const kolk_snapshot *s)
{
    kolk_table table = kolk_table_begin(page, flow_heads);
    kolk_page_title(page, "Tags, in bytes requested");
    for (size_t i = 0; i < s->tag_count; i++)
        if (s->tags[i].requested.allocated != 0)
            bytes_row(&table, s->tags[i].name, &s->tags[i].requested, kolk_tag_ink(i));
    kolk_table_end(&table);
}

static void print_streams(const kolk_page *page, const kolk_snapshot *s)
{
    static const char *const heads[] = {"stream",  "requested", "allocated", "cached",
                                        "pending", "allocs",    "hits",      NULL};
    char id[KOLK_CELL_SIZE];
    bool has_closed = false;
    kolk_table table = kolk_table_begin(page, heads);
    kolk_page_title(page, "Streams");
    for (size_t i = 0; i < s->stream_count; i++) {
        const kolk_snapshot_stream *const stream = &s->streams[i];
        if (!kolk_table_row(&table, KOLK_INK_PLAIN))
            continue;
        has_closed |= stream->is_closed;
        (void)snprintf(id, sizeof id, "%" PRIu64 "%s", stream->id,
                       stream->is_closed ? "*" : "");
        kolk_table_text(&table, id);
        kolk_table_bytes(&table, stream->requested);
        kolk_table_bytes(&table, stream->allocated);
        kolk_table_bytes(&table, stream->cached);
        kolk_table_bytes(&table, stream->pending);
        kolk_table_count(&table, stream->allocs);
        kolk_table_percent(&table, stream->hits, stream->allocs);
    }
    kolk_table_end(&table);
    if (has_closed)
        fputs("  * destroyed\n", page->file);
}

static uint64_t bin_bytes(const kolk_snapshot_bin *bin)
{
    uint64_t bytes;
    return __builtin_mul_overflow(bin->blocks, bin->size, &bytes) ? UINT64_MAX : bytes;
}

static int by_bytes(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left < right) - (left > right);
}

/* The bytes of the last bin that has room on the page when the largest go first. */
static uint64_t least_shown(const kolk_page *page, const kolk_snapshot *s)
{
    uint64_t least = 0;
    uint64_t *const bytes = calloc(s->bin_count + 1, sizeof *bytes);
    if (bytes != NULL && s->bin_count > page->rows) {
        for (size_t i = 0; i < s->bin_count; i++)
            bytes[i] = bin_bytes(&s->bins[i]);
        qsort(bytes, s->bin_count, sizeof *bytes, by_bytes);
        least = bytes[page->rows - 1];
    }
    free(bytes);
    return least;
}

static void bin_row(kolk_table *table, const kolk_snapshot_bin *bin)
{
    if (!kolk_table_row(table, KOLK_INK_PLAIN))
        return;
    kolk_table_bytes(table, bin->size);
    kolk_table_count(table, bin->blocks);
    kolk_table_count(table, bin->free);
    kolk_table_percent(table, minus(bin->blocks, bin->free), bin->blocks);
    kolk_table_count(table, bin->hits);
    kolk_table_count(table, bin->misses);
}

/* In order of size, those that hold the most bytes. */
static void print_bins(const kolk_page *page, const kolk_snapshot *s)
{
    static const char *const heads[] = {"block size", "blocks", "free", "in use",
                                        "hits",       "misses", NULL};
    const uint64_t least = least_shown(page, s);
    kolk_table table = kolk_table_begin(page, heads);
    kolk_page_title(page, "Bins");
    for (size_t i = 0; i < s->bin_count; i++) {
        const kolk_snapshot_bin *const bin = &s->bins[i];
        if (bin->blocks == 0 && bin->hits == 0 && bin->misses == 0)
            continue;
        if (bin_bytes(bin) >= least)
            bin_row(&table, bin);
        else
            table.left_out++;
    }
    kolk_table_end(&table);
}

static void print_calls(const kolk_page *page, const kolk_snapshot *s)
{
    static const char *const heads[] = {"call", "count", "failed",
                                        "time", "each",  NULL};
    kolk_table table = kolk_table_begin(page, heads);
    kolk_page_title(page, "Driver calls");
    for (size_t i = 0; i < s->call_count; i++) {
        const kolk_snapshot_call *const call = &s->calls[i];
        if (call->count == 0 || !kolk_table_row(&table, KOLK_INK_PLAIN))
            continue;
        kolk_table_text(&table, call->kind);
        kolk_table_count(&table, call->count);
        kolk_table_count(&table, call->failed);
        kolk_table_duration(&table, call->nanoseconds);
        kolk_table_duration(&table, call->nanoseconds / call->count);
    }
    kolk_table_end(&table);
}

static void print_consistency(const kolk_page *page, const kolk_snapshot *s)
{
    kolk_findings findings;
    if (!kolk_snapshot_check(s, &findings))
        return;
    putc('\n', page->file);
    kolk_page_ink(page, findings.violated == 0 ? KOLK_INK_GOOD : KOLK_INK_BAD);
    if (findings.violated == 0)
        fprintf(page->file, "%zu identities hold", findings.count);
    else
        fprintf(page->file, "%zu of %zu identities are violated: see kolk check",
                findings.violated, findings.count);
    kolk_page_ink(page, KOLK_INK_PLAIN);
    putc('\n', page->file);
}

void kolk_dump_print(const kolk_page *page, const kolk_snapshot *s)
{
    print_head(page, s);
    print_memory(page, s);
    print_use(page, s);
    print_figures(page, s);
    print_tags(page, s);
    print_streams(page, s);
    print_bins(page, s);
    print_calls(page, s);
    kolk_page_title(page, "Segments");
    kolk_map_print(page, s);
    print_consistency(page, s);
}
