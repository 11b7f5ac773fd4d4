/* SPDX-License-Identifier: MIT */

/* All segments share one scale: a cell is the smallest power of two at which the
 * rows that have memory in them fit the page. Rows without any are left out and
 * said to be, since address space is often a thousand times the memory. A block
 * that lies outside its segment or before its predecessor is not drawn. */

#include "map.h"
#include <string.h>

enum { CELLS = 64, LEAST_CELL = 512, LABEL_WIDTH = 10 };

static const uint64_t most_cell = UINT64_C(1) << 56;

typedef struct cell {
    uint64_t live, pending, free;
    uint64_t tags[KOLK_SNAPSHOT_TAGS];
} cell;

typedef struct map {
    const kolk_page *page;
    const kolk_snapshot *snapshot;
    uint64_t cell_bytes, row_bytes;
    size_t rows_left;
    uint64_t next_row; /* of the segment: the one after the last drawn */
    cell cells[CELLS];
} map;

/* ---- which blocks are drawn ---------------------------------------------- */

/* Walks the blocks with memory, as offsets from the start of their segment. */
typedef struct walk {
    const kolk_snapshot_segment *segment;
    size_t index;
    uint64_t start, end; /* of the block found; end <= segment size */
} walk;

static const kolk_snapshot_block *walk_on(walk *w)
{
    while (w->index < w->segment->block_count) {
        const kolk_snapshot_block *const block = &w->segment->blocks[w->index++];
        const uint64_t start = block->address - w->segment->address;
        if (block->state == KOLK_STATE_UNMAPPED || block->size == 0 ||
            block->address < w->segment->address || start < w->end ||
            start > w->segment->size || block->size > w->segment->size - start)
            continue;
        w->start = start;
        w->end = start + block->size;
        return block;
    }
    return NULL;
}

/* ---- the scale ----------------------------------------------------------- */

static uint64_t rows_of(const kolk_snapshot_segment *segment, uint64_t row_bytes)
{
    walk w = {.segment = segment};
    uint64_t rows = 0, next = 0;
    while (walk_on(&w) != NULL) {
        const uint64_t first = w.start / row_bytes, last = (w.end - 1) / row_bytes;
        rows += last - (first < next ? next : first) + 1;
        next = last + 1;
    }
    return rows;
}

/* True if no coarser scale is wanted. */
static bool fits(const kolk_snapshot *s, uint64_t row_bytes, size_t room)
{
    uint64_t rows = 0, segments = 0;
    for (size_t i = 0; i < s->segment_count; i++) {
        const uint64_t more = rows_of(&s->segment_rows[i], row_bytes);
        rows += more < room ? more : room + 1;
        segments += more != 0;
    }
    return rows + segments <= room || rows == segments;
}

static uint64_t choose_cell(const kolk_snapshot *s, size_t room)
{
    uint64_t bytes = LEAST_CELL;
    while (bytes < most_cell && !fits(s, bytes * CELLS, room))
        bytes *= 2;
    return bytes;
}

/* ---- a cell -------------------------------------------------------------- */

const char *kolk_glyph_text(const kolk_page *page, kolk_glyph glyph)
{
    static const char *const fine[] = {"█", "▓", "▒", "░", "~", "·", " "};
    static const char *const plain[] = {"#", "=", "-", "'", "~", ".", " "};
    return page->is_utf8 ? fine[glyph] : plain[glyph];
}

kolk_ink kolk_tag_ink(size_t tag)
{
    return (kolk_ink)(KOLK_INK_SERIES + tag % KOLK_INK_SERIES_COUNT);
}

static kolk_glyph glyph_of(const cell *c)
{
    const uint64_t all = c->live + c->pending + c->free;
    const double part = all == 0 ? 0 : (double)c->live / (double)all;
    if (c->pending > c->live)
        return KOLK_GLYPH_PENDING;
    if (c->live == 0)
        return all == 0 ? KOLK_GLYPH_NONE : KOLK_GLYPH_FREE;
    return c->live == all ? KOLK_GLYPH_FULL
           : part >= 0.5  ? KOLK_GLYPH_MOST
           : part >= 0.25 ? KOLK_GLYPH_SOME
                          : KOLK_GLYPH_LITTLE;
}

static kolk_ink ink_of(const map *m, const cell *c)
{
    size_t most = 0;
    if (c->live == 0 || c->pending > c->live)
        return KOLK_INK_PLAIN;
    for (size_t tag = 1; tag < m->snapshot->tag_count; tag++)
        if (c->tags[tag] > c->tags[most])
            most = tag;
    return kolk_tag_ink(most);
}

static void fill_cell(cell *c, const kolk_snapshot_block *block, uint64_t bytes)
{
    if (block->state == KOLK_STATE_LIVE) {
        c->live += bytes;
        c->tags[block->tag] += bytes;
    } else if (block->state == KOLK_STATE_PENDING) {
        c->pending += bytes;
    } else {
        c->free += bytes;
    }
}

/* ---- a row --------------------------------------------------------------- */

static void print_label(const map *m, uint64_t offset)
{
    char text[KOLK_CELL_SIZE];
    kolk_page_bytes(m->page, offset, text);
    kolk_page_ink(m->page, KOLK_INK_FAINT);
    fprintf(m->page->file, "  %*s", LABEL_WIDTH, text);
    kolk_page_ink(m->page, KOLK_INK_PLAIN);
    fputs("  ", m->page->file);
}

static size_t cells_used(const map *m)
{
    size_t used = CELLS;
    while (used > 0 && glyph_of(&m->cells[used - 1]) == KOLK_GLYPH_NONE)
        used--;
    return used;
}

static void print_cells(const map *m)
{
    kolk_ink ink = KOLK_INK_PLAIN;
    const size_t used = cells_used(m);
    for (size_t i = 0; i < used; i++) {
        const kolk_ink next = ink_of(m, &m->cells[i]);
        if (next != ink)
            kolk_page_ink(m->page, next);
        ink = next;
        fputs(kolk_glyph_text(m->page, glyph_of(&m->cells[i])), m->page->file);
    }
    if (ink != KOLK_INK_PLAIN)
        kolk_page_ink(m->page, KOLK_INK_PLAIN);
    putc('\n', m->page->file);
}

static void print_gap(const map *m, uint64_t rows)
{
    char text[KOLK_CELL_SIZE];
    kolk_page_bytes(m->page, rows * m->row_bytes, text);
    fprintf(m->page->file, "  %*s  %s without memory\n", LABEL_WIDTH, "", text);
}

/* Prints the row that was filled and starts `row`; UINT64_MAX starts none. */
static void turn_row(map *m, uint64_t *row, uint64_t next)
{
    if (*row == next)
        return;
    if (*row != UINT64_MAX && m->rows_left > 0) {
        if (*row > m->next_row)
            print_gap(m, *row - m->next_row);
        print_label(m, *row * m->row_bytes);
        print_cells(m);
        m->rows_left--;
        m->next_row = *row + 1;
    }
    memset(m->cells, 0, sizeof m->cells);
    *row = next;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void draw_block(map *m, const kolk_snapshot_block *block, uint64_t start,
                       uint64_t end, uint64_t *row)
{
    while (start < end && m->rows_left > 0) {
        const uint64_t index = start / m->cell_bytes;
        const uint64_t stop = least(end, (index + 1) * m->cell_bytes);
        turn_row(m, row, index / CELLS);
        fill_cell(&m->cells[index % CELLS], block, stop - start);
        start = stop;
    }
}

/* ---- segments ------------------------------------------------------------ */

static void print_segment_head(const map *m, size_t index)
{
    const kolk_snapshot_segment *const segment = &m->snapshot->segment_rows[index];
    char size[KOLK_CELL_SIZE], mapped[KOLK_CELL_SIZE];
    kolk_page_bytes(m->page, segment->size, size);
    kolk_page_bytes(m->page, segment->mapped, mapped);
    fprintf(m->page->file, "  segment %zu at 0x%llx: ", index,
            (unsigned long long)segment->address);
    if (segment->is_expandable)
        fprintf(m->page->file, "%s of memory in %s of addresses\n", mapped, size);
    else
        fprintf(m->page->file, "%s\n", size);
}

static void draw_segment(map *m, size_t index)
{
    walk w = {.segment = &m->snapshot->segment_rows[index]};
    uint64_t row = UINT64_MAX;
    const kolk_snapshot_block *block;
    print_segment_head(m, index);
    m->rows_left--;
    m->next_row = 0;
    while (m->rows_left > 0 && (block = walk_on(&w)) != NULL)
        draw_block(m, block, w.start, w.end, &row);
    turn_row(m, &row, UINT64_MAX);
}

static void print_tag_legend(const kolk_page *page, const kolk_snapshot *s)
{
    fputs("  colours ", page->file);
    for (size_t i = 0; i < s->tag_count && i < KOLK_INK_SERIES_COUNT; i++) {
        putc(' ', page->file);
        kolk_page_ink(page, kolk_tag_ink(i));
        kolk_page_text(page, s->tags[i].name, 20);
        kolk_page_ink(page, KOLK_INK_PLAIN);
    }
    putc('\n', page->file);
}

static void print_legend(const map *m)
{
    char text[KOLK_CELL_SIZE];
    kolk_page_bytes(m->page, m->cell_bytes, text);
    fprintf(m->page->file,
            "  %s a character; in use: %s all %s most %s some %s little; %s pending; "
            "%s free\n",
            text, kolk_glyph_text(m->page, KOLK_GLYPH_FULL),
            kolk_glyph_text(m->page, KOLK_GLYPH_MOST),
            kolk_glyph_text(m->page, KOLK_GLYPH_SOME),
            kolk_glyph_text(m->page, KOLK_GLYPH_LITTLE),
            kolk_glyph_text(m->page, KOLK_GLYPH_PENDING),
            kolk_glyph_text(m->page, KOLK_GLYPH_FREE));
    if (m->page->has_colour)
        print_tag_legend(m->page, m->snapshot);
}

void kolk_map_print(const kolk_page *page, const kolk_snapshot *s)
{
    map m = {.page = page, .snapshot = s, .rows_left = page->rows};
    m.cell_bytes = choose_cell(s, page->rows);
    m.row_bytes = m.cell_bytes * CELLS;
    print_legend(&m);
    size_t shown = 0;
    for (; shown < s->segment_count && m.rows_left > 1; shown++)
        draw_segment(&m, shown);
    if (shown < s->segment_count)
        fprintf(page->file, "  and %zu more, see --rows\n", s->segment_count - shown);
}
