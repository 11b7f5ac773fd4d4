/* SPDX-License-Identifier: MIT */

/* The happens-before oracle.
 *
 * Memory remembers its past: for every byte the latest accesses that no later
 * access has taken over. A new access must come after each of them in its
 * stream's clock, unless both only read. It then takes over what it covers: a
 * write everything, since whoever comes after the write comes after all that was
 * before it; a read only earlier reads of its own stream. */

#include "emulator_machine.h"

#include <stdlib.h>
#include <string.h>

/* ---- clocks ---- */

uint64_t emu_vector_get(const emu_vector *vector, size_t stream)
{
    return stream < vector->count ? vector->seen[stream] : 0;
}

void emu_vector_set(emu_vector *vector, size_t stream, uint64_t number)
{
    while (vector->count <= stream)
        emu_insert(&vector->seen, &vector->count, vector->count, sizeof(uint64_t));
    vector->seen[stream] = number;
}

void emu_vector_join(emu_vector *into, const emu_vector *from)
{
    for (size_t i = from->count; i-- > 0;)
        if (from->seen[i] > emu_vector_get(into, i))
            emu_vector_set(into, i, from->seen[i]);
}

void emu_vector_clear(emu_vector *vector)
{
    free(vector->seen);
    *vector = (emu_vector){0};
}

/* ---- the past of memory ---- */

static bool comes_after(const emu_vector *clock, const emu_past *past)
{
    return emu_vector_get(clock, past->stream) >= past->number;
}

static void remember(emu_memory *memory, const emu_past *past)
{
    if (past->from == past->to)
        return;
    if (memory->past_count == memory->past_room) {
        memory->past_room = 2 * memory->past_room + 8;
        memory->past = realloc(memory->past, memory->past_room * sizeof *past);
        if (memory->past == NULL)
            abort();
    }
    memory->past[memory->past_count++] = *past;
}

static bool overlaps(const emu_past *a, const emu_past *b)
{
    return a->from < b->to && b->from < a->to;
}

static bool takes_over(const emu_past *now, const emu_past *before)
{
    return now->write || (!before->write && before->stream == now->stream);
}

/* Leaves of `memory->past[at]` only what lies outside `now`. */
static void cut(emu_memory *memory, size_t at, const emu_past *now)
{
    emu_past left = memory->past[at];
    emu_past right = left;
    left.to = left.from < now->from ? now->from : left.from;
    right.from = right.to > now->to ? now->to : right.to;
    memory->past[at] = memory->past[--memory->past_count];
    remember(memory, &left);
    remember(memory, &right);
}

static void report_race(const emu_past *now, const emu_past *before)
{
    emu_violate("work %llu of stream %zu %s bytes that work %llu of stream %zu %s, "
                "with no order between them",
                (unsigned long long)now->number, now->stream,
                now->write ? "writes" : "reads", (unsigned long long)before->number,
                before->stream, before->write ? "writes" : "reads");
}

static void access_memory(emu_memory *memory, const emu_vector *clock,
                          const emu_past *now)
{
    for (size_t i = memory->past_count; i-- > 0;) {
        const emu_past before = memory->past[i];
        if (!overlaps(&before, now))
            continue;
        if ((now->write || before.write) && !comes_after(clock, &before))
            report_race(now, &before);
        if (takes_over(now, &before))
            cut(memory, i, now);
    }
    remember(memory, now);
}

/* ---- pieces of an access ---- */

static bool may_access(const emu_mapping *mapping, const emu_work *work)
{
    return mapping != NULL &&
           (work->action == EMU_COPY || (mapping->access >> work->device & 1));
}

static size_t piece_of(const emu_mapping *mapping, uintptr_t at, size_t size)
{
    const size_t rest = mapping->address + mapping->memory->size - at;
    return rest < size ? rest : size;
}

static void order_access(const emu_stream *stream, const emu_access *access,
                         uint64_t number)
{
    uintptr_t at = (uintptr_t)access->data;
    size_t left = access->size;
    while (left > 0) {
        const emu_mapping *const mapping = emu_mapping_at(at);
        if (mapping == NULL)
            return; /* told when it runs */
        const size_t size = piece_of(mapping, at, left);
        const size_t from = at - mapping->address;
        access_memory(mapping->memory, &stream->clock,
                      &(emu_past){.from = from,
                                  .to = from + size,
                                  .stream = stream->index,
                                  .number = number,
                                  .write = access->write});
        at += size;
        left -= size;
    }
}

void emu_order_accesses(const emu_stream *stream, const emu_work *work)
{
    for (size_t i = 0; i < work->access_count; i++)
        order_access(stream, &work->accesses[i], work->number);
}

static bool is_mapped(const emu_work *work, const emu_access *access)
{
    uintptr_t at = (uintptr_t)access->data;
    size_t left = access->size;
    while (left > 0) {
        const emu_mapping *const mapping = emu_mapping_at(at);
        if (!may_access(mapping, work))
            return false;
        const size_t size = piece_of(mapping, at, left);
        at += size;
        left -= size;
    }
    return true;
}

bool emu_accesses_are_mapped(const emu_work *work)
{
    for (size_t i = 0; i < work->access_count; i++)
        if (!is_mapped(work, &work->accesses[i])) {
            emu_violate("work %llu on device %d uses %zu bytes at %p, which are not "
                        "all mapped for it",
                        (unsigned long long)work->number, work->device,
                        work->accesses[i].size, work->accesses[i].data);
            return false;
        }
    return true;
}

void emu_order_release(const emu_memory *memory, const char *call)
{
    for (size_t i = 0; i < memory->past_count; i++)
        if (!comes_after(&emu.host, &memory->past[i])) {
            emu_violate("%s of memory that work %llu of stream %zu uses, before the "
                        "host knows that it is complete",
                        call, (unsigned long long)memory->past[i].number,
                        memory->past[i].stream);
            return;
        }
}
