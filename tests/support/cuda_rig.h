/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TESTS_CUDA_RIG_H
#define KOLK_TESTS_CUDA_RIG_H

/* Every entry of the CUDA backend, ready to be called on a rig that has one of
 * everything, on an emulated machine. */

#include "emulator.h"
#include "suite.h"
#include <runtime/cuda_backend.h>

#define CUDA_RIG_PAGE ((size_t)2 << 20)
#define CUDA_RIG_OUT 0x5a /* what out-parameters hold before a call */

enum { HERE, THERE }; /* the caller's device, and the one the calls are about */

/* One of everything, all on the other device. */
typedef struct cuda_rig {
    void *stream;
    void *event;
    void *data;
    void *base; /* two pages: the first mapped, the second free */
    uint64_t mapped;
    uint64_t page;
    size_t held;
} cuda_rig;

typedef union cuda_outs {
    unsigned char bytes[sizeof(kolk_device_info)];
    kolk_device_info info;
    int count;
    size_t sizes[2];
    void *pointer;
    uint64_t word;
    bool flag;
} cuda_outs;

/* An entry, called on a rig, and how to take back what it did. */
typedef struct cuda_entry {
    const char *name;
    kolk_status (*call)(const cuda_rig *rig, cuda_outs *out);
    kolk_status (*undo)(const cuda_rig *rig,
                        const cuda_outs *out); /* NULL: nothing to do */
    bool releases; /* in vain, but not wrong, once the driver has gone */
} cuda_entry;

enum { CUDA_ENTRIES = 24 };

extern const cuda_entry cuda_entries[CUDA_ENTRIES];

/* On a new machine. The driver's calls are not looked up yet. */
cuda_rig cuda_rig_up(void);

/* The machine forgets its part at the next reset. */
void cuda_rig_down(const cuda_rig *rig, bool event_is_gone);

/* The entry destroys the rig's event. */
bool cuda_entry_destroys_event(const cuda_entry *entry);

/* Nobody has written there. */
bool cuda_outs_are_unused(const cuda_outs *outs);

/* The caller's device, capture mode and last error are as they were. */
void cuda_assert_restored(const cuda_entry *entry, size_t nth);

#endif
