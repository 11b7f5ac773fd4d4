/* SPDX-License-Identifier: MIT */

/* What of the free bytes a trim could give back. Memory comes from the driver in
 * pages, or in whole plain segments, and goes back the same way: a free byte
 * stays for as long as something in use shares its page or segment. */

#include "snapshot.h"

static uint64_t whole_pages(uint64_t begin, uint64_t end, uint64_t page)
{
    if (page == 0 || begin > UINT64_MAX - (page - 1))
        return 0;
    const uint64_t first = (begin + (page - 1)) / page * page;
    return end > first ? (end - first) / page * page : 0;
}

/* Whole pages in the runs of free blocks of one segment. */
static uint64_t free_pages(const kolk_snapshot_segment *segment, uint64_t page)
{
    uint64_t bytes = 0, begin = 0, end = 0; /* counted, as pages are, from the base */
    for (size_t i = 0; i < segment->block_count; i++) {
        const kolk_snapshot_block *const block = &segment->blocks[i];
        if (block->state == KOLK_STATE_FREE) {
            end += block->size;
            continue;
        }
        bytes += whole_pages(begin, end, page);
        end += block->size;
        begin = end;
    }
    return bytes + whole_pages(begin, end, page);
}

static uint64_t if_idle(const kolk_snapshot_segment *segment)
{
    for (size_t i = 0; i < segment->block_count; i++)
        if (segment->blocks[i].state != KOLK_STATE_FREE)
            return 0;
    return segment->mapped;
}

uint64_t kolk_snapshot_returnable(const kolk_snapshot *snapshot)
{
    uint64_t bytes = snapshot->unmapped;
    for (size_t i = 0; i < snapshot->segment_count; i++) {
        const kolk_snapshot_segment *const segment = &snapshot->segment_rows[i];
        bytes += segment->is_expandable ? free_pages(segment, snapshot->page_size)
                                        : if_idle(segment);
    }
    return bytes;
}
