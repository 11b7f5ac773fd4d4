/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TOOL_CHECK_H
#define KOLK_TOOL_CHECK_H

/* Whether the numbers of a snapshot fit each other: the identities that a pool
 * promises, each with what was found. */

#include "snapshot.h"

enum { KOLK_IDENTITIES_MOST = 64 };

typedef struct kolk_identity {
    const char *name;
    uint64_t violations;
    char detail[192]; /* of the first violation */
} kolk_identity;

typedef struct kolk_findings {
    size_t count;    /* identities looked at */
    size_t violated; /* of them */
    kolk_identity identities[KOLK_IDENTITIES_MOST];
} kolk_findings;

/* False if there was no memory to do it with. */
bool kolk_snapshot_check(const kolk_snapshot *snapshot, kolk_findings *out);

#endif
