/* SPDX-License-Identifier: MIT */

/* Each identity is opened once, then everything it speaks of is held against it.
 * Sums saturate: a total that does not fit in 64 bits equals no counter. */

#include "check.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 256 };

/* What the blocks add up to, walked once. */
typedef struct totals {
    uint64_t requested, live, active, mapped, free, count;
    uint64_t addresses, largest_free;
    uint64_t tags[KOLK_SNAPSHOT_TAGS];
} totals;

static uint64_t plus(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t minus(uint64_t a, uint64_t b)
{
    return a < b ? 0 : a - b;
}

/* ---- findings ------------------------------------------------------------ */

static kolk_identity *open_identity(kolk_findings *findings, const char *name)
{
    kolk_identity *const identity = &findings->identities[findings->count++];
    *identity = (kolk_identity){.name = name};
    return identity;
}

KOLK_PRINTF(3, 4)
static void expect(kolk_identity *identity, bool holds, const char *fmt, ...)
{
    if (holds || identity->violations++ != 0)
        return;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(identity->detail, sizeof identity->detail, fmt, args);
    va_end(args);
}

static void equal(kolk_findings *findings, const char *name, uint64_t sum,
                  uint64_t counter)
{
    expect(open_identity(findings, name), sum == counter,
           "the sum is %" PRIu64 ", the counter %" PRIu64, sum, counter);
}

static void at_most(kolk_findings *findings, const char *name, uint64_t less,
                    uint64_t more)
{
    expect(open_identity(findings, name), less <= more,
           "%" PRIu64 " is more than %" PRIu64, less, more);
}

/* ---- the counters among themselves --------------------------------------- */

static void check_order(const kolk_snapshot *s, kolk_findings *findings)
{
    const struct {
        const char *name;
        uint64_t less, more;
    } rows[] = {
        {"requested <= allocated", s->requested.current, s->allocated.current},
        {"allocated <= active", s->allocated.current, s->active.current},
        {"active <= reserved", s->active.current, s->reserved.current},
        {"peaks: requested <= allocated", s->requested.peak, s->allocated.peak},
        {"peaks: allocated <= active", s->allocated.peak, s->active.peak},
        {"peaks: active <= reserved", s->active.peak, s->reserved.peak},
        {"reserved <= limit", s->reserved.current,
         s->limit == 0 ? UINT64_MAX : s->limit},
        {"retired <= active", s->retired, s->active.current},
        {"unmapped <= reserved", s->unmapped, s->reserved.current},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        at_most(findings, rows[i].name, rows[i].less, rows[i].more);
}

static void check_flow(kolk_identity *peaks, kolk_identity *balances, const char *name,
                       const kolk_stat *stat)
{
    expect(peaks, stat->peak >= stat->current,
           "%s: the peak is %" PRIu64 ", the current value %" PRIu64, name, stat->peak,
           stat->current);
    expect(balances, stat->allocated - stat->freed == stat->current,
           "%s: %" PRIu64 " - %" PRIu64 " is not %" PRIu64, name, stat->allocated,
           stat->freed, stat->current);
}

static void check_flows(const kolk_snapshot *s, kolk_findings *findings)
{
    kolk_identity *const peaks = open_identity(findings, "peak >= current");
    kolk_identity *const balances =
        open_identity(findings, "total allocated - total freed = current");
#define X(name, key, label) check_flow(peaks, balances, label, &s->name);
    KOLK_FLOW_LIST(X)
#undef X
    for (size_t i = 0; i < s->tag_count; i++)
        check_flow(peaks, balances, s->tags[i].name, &s->tags[i].requested);
}

static void check_counts(const kolk_snapshot *s, kolk_findings *findings)
{
    equal(findings, "allocs - frees = blocks", s->allocs - s->frees, s->blocks.current);
    /* A request that failed is a miss as well. */
    at_most(findings, "hits <= allocs", s->hits, s->allocs);
    at_most(findings, "allocs <= hits + misses", s->allocs, plus(s->hits, s->misses));
    kolk_identity *const failed =
        open_identity(findings, "failed driver calls <= driver calls");
    for (size_t i = 0; i < s->call_count; i++)
        expect(failed, s->calls[i].failed <= s->calls[i].count,
               "%s: %" PRIu64 " of %" PRIu64 " failed", s->calls[i].kind,
               s->calls[i].failed, s->calls[i].count);
}

/* ---- segments and blocks ------------------------------------------------- */

static void check_tiling(const kolk_snapshot *s, kolk_findings *findings)
{
    kolk_identity *const tiles =
        open_identity(findings, "blocks tile each segment exactly");
    for (size_t i = 0; i < s->segment_count; i++) {
        const kolk_snapshot_segment *const segment = &s->segment_rows[i];
        uint64_t next = segment->address;
        for (size_t k = 0; k < segment->block_count; k++) {
            const kolk_snapshot_block *const block = &segment->blocks[k];
            expect(tiles, block->size != 0, "segment %zu, block %zu is empty", i, k);
            expect(tiles, block->address == next,
                   "segment %zu, block %zu starts at 0x%" PRIx64 ", not 0x%" PRIx64, i,
                   k, block->address, next);
            next = block->address + block->size;
        }
        expect(tiles, next == segment->address + segment->size,
               "segment %zu ends at 0x%" PRIx64 ", its blocks at 0x%" PRIx64, i,
               segment->address + segment->size, next);
    }
}

static void check_segment_order(const kolk_snapshot *s, kolk_findings *findings)
{
    kolk_identity *const apart =
        open_identity(findings, "segments are in order and apart");
    for (size_t i = 1; i < s->segment_count; i++) {
        const kolk_snapshot_segment *const before = &s->segment_rows[i - 1];
        expect(apart, before->address + before->size <= s->segment_rows[i].address,
               "segment %zu starts at 0x%" PRIx64 ", before 0x%" PRIx64, i,
               s->segment_rows[i].address, before->address + before->size);
    }
}

static void check_block(const kolk_snapshot_block *block, size_t i, size_t k,
                        kolk_identity *fits, kolk_identity *aligned)
{
    const bool is_active =
        block->state == KOLK_STATE_LIVE || block->state == KOLK_STATE_PENDING;
    expect(fits, block->requested <= block->size,
           "segment %zu, block %zu: %" PRIu64 " bytes were asked for, it has %" PRIu64,
           i, k, block->requested, block->size);
    expect(aligned, !is_active || block->address % ALIGNMENT == 0,
           "segment %zu, block %zu is at 0x%" PRIx64, i, k, block->address);
}

static void check_blocks(const kolk_snapshot *s, kolk_findings *findings)
{
    kolk_identity *const fits = open_identity(findings, "requests fit their blocks");
    kolk_identity *const aligned =
        open_identity(findings, "blocks in use are aligned to 256 bytes");
    for (size_t i = 0; i < s->segment_count; i++)
        for (size_t k = 0; k < s->segment_rows[i].block_count; k++)
            check_block(&s->segment_rows[i].blocks[k], i, k, fits, aligned);
}

static void add_block(totals *all, const kolk_snapshot_block *block)
{
    if (block->state == KOLK_STATE_LIVE) {
        all->requested = plus(all->requested, block->requested);
        all->tags[block->tag] = plus(all->tags[block->tag], block->requested);
        all->live = plus(all->live, block->size);
        all->count++;
    }
    if (block->state == KOLK_STATE_LIVE || block->state == KOLK_STATE_PENDING)
        all->active = plus(all->active, block->size);
    if (block->state == KOLK_STATE_FREE) {
        all->free = plus(all->free, block->size);
        if (block->size > all->largest_free)
            all->largest_free = block->size;
    }
}

static void check_mapped(const kolk_snapshot *s, kolk_findings *findings, totals *all)
{
    kolk_identity *const mapped =
        open_identity(findings, "blocks with memory = bytes mapped, by segment");
    for (size_t i = 0; i < s->segment_count; i++) {
        const kolk_snapshot_segment *const segment = &s->segment_rows[i];
        uint64_t backed = 0;
        for (size_t k = 0; k < segment->block_count; k++) {
            const kolk_snapshot_block *const block = &segment->blocks[k];
            add_block(all, block);
            if (block->state != KOLK_STATE_UNMAPPED)
                backed = plus(backed, block->size);
        }
        expect(mapped, backed == segment->mapped,
               "segment %zu: blocks with memory have %" PRIu64 " bytes, %" PRIu64
               " are mapped",
               i, backed, segment->mapped);
        all->mapped = plus(all->mapped, segment->mapped);
        all->addresses = plus(all->addresses, segment->size);
    }
}

static void check_sums(const kolk_snapshot *s, kolk_findings *findings,
                       const totals *all)
{
    equal(findings, "requests of live blocks = requested", all->requested,
          s->requested.current);
    equal(findings, "live blocks = allocated", all->live, s->allocated.current);
    equal(findings, "live and pending blocks = active", all->active, s->active.current);
    equal(findings, "bytes mapped + unmapped = reserved",
          plus(all->mapped, s->unmapped), s->reserved.current);
    equal(findings, "number of live blocks = blocks", all->count, s->blocks.current);
    equal(findings, "number of segments = segments", s->segment_count,
          s->segments.current);
    at_most(findings, "addresses of segments <= address space", all->addresses,
            s->address_space);
}

/* ---- tags, bins, streams ------------------------------------------------- */

static void check_tags(const kolk_snapshot *s, kolk_findings *findings,
                       const totals *all)
{
    uint64_t sum = 0;
    kolk_identity *const blocks =
        open_identity(findings, "requests of live blocks = requested, by tag");
    for (size_t i = 0; i < s->tag_count; i++) {
        const uint64_t counter = s->tags[i].requested.current;
        sum = plus(sum, counter);
        expect(blocks, all->tags[i] == counter,
               "%s: the sum is %" PRIu64 ", the counter %" PRIu64, s->tags[i].name,
               all->tags[i], counter);
    }
    equal(findings, "tags = requested", sum, s->requested.current);
}

static void check_bins(const kolk_snapshot *s, kolk_findings *findings,
                       const totals *all)
{
    kolk_identity *const parts =
        open_identity(findings, "free blocks of a bin <= its blocks");
    uint64_t free_bytes = 0, hits = 0;
    for (size_t i = 0; i < s->bin_count; i++) {
        const kolk_snapshot_bin *const bin = &s->bins[i];
        uint64_t bytes;
        if (__builtin_mul_overflow(bin->free, bin->size, &bytes))
            bytes = UINT64_MAX;
        free_bytes = plus(free_bytes, bytes);
        hits = plus(hits, bin->hits);
        expect(parts, bin->free <= bin->blocks,
               "size %" PRIu64 ": %" PRIu64 " of %" PRIu64 " are free", bin->size,
               bin->free, bin->blocks);
    }
    at_most(findings, "free bytes of bins <= free blocks", free_bytes, all->free);
    at_most(findings, "hits of bins <= hits", hits, s->hits);
}

static void check_streams(const kolk_snapshot *s, kolk_findings *findings,
                          const totals *all)
{
    kolk_snapshot_stream sum = {0};
    for (size_t i = 0; i < s->stream_count; i++) {
        const kolk_snapshot_stream *const stream = &s->streams[i];
        sum.requested = plus(sum.requested, stream->requested);
        sum.allocated = plus(sum.allocated, stream->allocated);
        sum.cached = plus(sum.cached, stream->cached);
        sum.pending = plus(sum.pending, stream->pending);
        sum.allocs = plus(sum.allocs, stream->allocs);
        sum.frees = plus(sum.frees, stream->frees);
        sum.hits = plus(sum.hits, stream->hits);
        sum.misses = plus(sum.misses, stream->misses);
    }
    equal(findings, "streams: requested", sum.requested, s->requested.current);
    equal(findings, "streams: allocated", sum.allocated, s->allocated.current);
    equal(findings, "streams: pending = active - allocated", sum.pending,
          minus(s->active.current, s->allocated.current));
    at_most(findings, "streams: cached <= free blocks", sum.cached, all->free);
    /* A stream that is gone, with all its blocks, has no row any more. */
    at_most(findings, "streams: allocs <= allocs", sum.allocs, s->allocs);
    at_most(findings, "streams: frees <= frees", sum.frees, s->frees);
    at_most(findings, "streams: hits <= hits", sum.hits, s->hits);
    at_most(findings, "streams: misses <= misses", sum.misses, s->misses);
}

static int by_number(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static bool check_owners(const kolk_snapshot *s, kolk_findings *findings)
{
    kolk_identity *const known = open_identity(findings, "streams of blocks are known");
    uint64_t *const ids = calloc(s->stream_count + 1, sizeof *ids);
    if (ids == NULL)
        return false;
    for (size_t i = 0; i < s->stream_count; i++)
        ids[i] = s->streams[i].id;
    qsort(ids, s->stream_count, sizeof *ids, by_number);
    for (size_t i = 0; i < s->segment_count; i++)
        for (size_t k = 0; k < s->segment_rows[i].block_count; k++) {
            const uint64_t id = s->segment_rows[i].blocks[k].stream;
            expect(known,
                   id == 0 || bsearch(&id, ids, s->stream_count, sizeof *ids,
                                      by_number) != NULL,
                   "segment %zu, block %zu: stream %" PRIu64 " is not in the table", i,
                   k, id);
        }
    free(ids);
    return true;
}

static void check_text(const kolk_snapshot *s, kolk_findings *findings)
{
    expect(open_identity(findings, "the text is as long as it was written"),
           s->bytes_written == s->bytes_read,
           "%" PRIu64 " bytes were written before its end, there are %" PRIu64,
           s->bytes_written, s->bytes_read);
}

bool kolk_snapshot_check(const kolk_snapshot *s, kolk_findings *out)
{
    totals all = {0};
    out->count = out->violated = 0;
    check_text(s, out);
    check_order(s, out);
    check_flows(s, out);
    check_counts(s, out);
    check_segment_order(s, out);
    check_tiling(s, out);
    check_blocks(s, out);
    check_mapped(s, out, &all);
    check_sums(s, out, &all);
    check_tags(s, out, &all);
    check_bins(s, out, &all);
    check_streams(s, out, &all);
    const bool is_done = check_owners(s, out);
    for (size_t i = 0; i < out->count; i++)
        out->violated += out->identities[i].violations != 0;
    return is_done;
}
