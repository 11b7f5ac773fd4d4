/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TOOL_MAP_H
#define KOLK_TOOL_MAP_H

/* The segments drawn to scale, a character for some bytes. */

#include "page.h"
#include "snapshot.h"

/* One character by what most of its bytes are. */
typedef enum kolk_glyph {
    KOLK_GLYPH_FULL,
    KOLK_GLYPH_MOST,
    KOLK_GLYPH_SOME,
    KOLK_GLYPH_LITTLE,
    KOLK_GLYPH_PENDING,
    KOLK_GLYPH_FREE,
    KOLK_GLYPH_NONE
} kolk_glyph;

const char *kolk_glyph_text(const kolk_page *page, kolk_glyph glyph);

/* The colour of a tag, wherever it is shown. */
kolk_ink kolk_tag_ink(size_t tag);

void kolk_map_print(const kolk_page *page, const kolk_snapshot *snapshot);

#endif
