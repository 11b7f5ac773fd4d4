/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

/* The driver's virtual memory calls, with its rules: sizes in whole pages,
 * offset 0, a page is mapped whole and onto nothing, unmapped whole, touched
 * only after access was granted; memory lives until the last of handle and
 * mappings has gone. */

#include "emulator_machine.h"

#include <cuda.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static bool is_whole(size_t size)
{
    return size != 0 && size % emu.config.granularity == 0;
}

static cudaError_t enter(emu_call call)
{
    const cudaError_t code = emu_enter(call);
    if (code != cudaSuccess)
        return code;
    return emu.config.no_pages ? cudaErrorNotSupported : emu_capture_unsafe();
}

static CUresult leave(cudaError_t code)
{
    return (CUresult)emu_leave_driver(code);
}

/* ---- address space ---- */

static void *map_nothing(uintptr_t at, size_t size)
{
    const int fixed = at != 0 ? MAP_FIXED : 0;
    void *const address =
        mmap((void *)at, size, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
    if (address == MAP_FAILED)
        abort();
    return address;
}

static emu_range *range_at(uintptr_t base)
{
    for (size_t i = 0; i < emu.range_count; i++)
        if (base - emu.ranges[i].base < emu.ranges[i].size)
            return &emu.ranges[i];
    return NULL;
}

static bool is_empty(uintptr_t base, size_t size)
{
    const size_t after = emu_mapping_after(base);
    return emu_mapping_at(base) == NULL &&
           (after == emu.mapping_count || emu.mappings[after].address - base >= size);
}

static cudaError_t reserve(CUdeviceptr *out, size_t size, size_t alignment)
{
    const size_t step =
        alignment > emu.config.granularity ? alignment : emu.config.granularity;
    if (!is_whole(size) || (alignment & (alignment - 1)) != 0)
        return cudaErrorInvalidValue;
    if (size > emu.config.address_space - emu.address_space_used)
        return cudaErrorMemoryAllocation;
    const uintptr_t start = (uintptr_t)map_nothing(0, size + step);
    const uintptr_t base = (start + step - 1) & ~(step - 1);
    if (base > start)
        munmap((void *)start, base - start);
    if (base < start + step)
        munmap((void *)(base + size), start + step - base);
    emu_insert(&emu.ranges, &emu.range_count, emu.range_count, sizeof(emu_range));
    emu.ranges[emu.range_count - 1] = (emu_range){.base = base, .size = size};
    emu.address_space_used += size;
    *out = base;
    return cudaSuccess;
}

static CUresult address_reserve(CUdeviceptr *out, size_t size, size_t alignment,
                                CUdeviceptr address, unsigned long long flags)
{
    cudaError_t code = enter(EMU_cuMemAddressReserve);
    if (code == cudaSuccess && (address != 0 || flags != 0))
        code = cudaErrorInvalidValue;
    if (code == cudaSuccess)
        code = reserve(out, size, alignment);
    return leave(code);
}

static cudaError_t give_back(uintptr_t base, size_t size)
{
    emu_range *const range = range_at(base);
    if (range == NULL || range->base != base || range->size != size ||
        !is_empty(base, size))
        return cudaErrorInvalidValue;
    munmap((void *)base, size);
    emu.address_space_used -= size;
    emu_remove(&emu.ranges, &emu.range_count, (size_t)(range - emu.ranges),
               sizeof *range);
    return cudaSuccess;
}

static CUresult address_free(CUdeviceptr base, size_t size)
{
    cudaError_t code = enter(EMU_cuMemAddressFree);
    if (code == cudaSuccess)
        code = give_back((uintptr_t)base, size);
    return leave(code);
}

/* ---- pages ---- */

static bool is_sound(const CUmemAllocationProp *kind)
{
    return kind->type == CU_MEM_ALLOCATION_TYPE_PINNED &&
           kind->location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
           kind->location.id >= 0 && kind->location.id < emu.config.devices;
}

static CUresult granularity(size_t *out, const CUmemAllocationProp *kind,
                            CUmemAllocationGranularity_flags option)
{
    cudaError_t code = emu_enter(EMU_cuMemGetAllocationGranularity);
    (void)option;
    if (code == cudaSuccess && !is_sound(kind))
        code = cudaErrorInvalidValue;
    if (code == cudaSuccess)
        *out = emu.config.granularity;
    return leave(code);
}

static cudaError_t create(CUmemGenericAllocationHandle *out, size_t size,
                          const CUmemAllocationProp *kind)
{
    if (!is_whole(size) || !is_sound(kind))
        return cudaErrorInvalidValue;
    emu_memory *const memory = emu_memory_make(kind->location.id, size);
    if (memory == NULL)
        return cudaErrorMemoryAllocation;
    memory->handle = ++emu.next_id;
    emu_insert(&emu.pages, &emu.page_count, emu.page_count, sizeof(emu_memory *));
    emu.pages[emu.page_count - 1] = memory;
    *out = memory->handle;
    return cudaSuccess;
}

static CUresult page_create(CUmemGenericAllocationHandle *out, size_t size,
                            const CUmemAllocationProp *kind, unsigned long long flags)
{
    cudaError_t code = enter(EMU_cuMemCreate);
    if (code == cudaSuccess && flags != 0)
        code = cudaErrorInvalidValue;
    if (code == cudaSuccess)
        code = create(out, size, kind);
    return leave(code);
}

/* Handles only grow, so the table is in their order. Its end when not found. */
static size_t page_index(CUmemGenericAllocationHandle handle)
{
    size_t low = 0;
    size_t high = emu.page_count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (emu.pages[middle]->handle >= handle)
            high = middle;
        else
            low = middle + 1;
    }
    const bool is_found = low < emu.page_count && emu.pages[low]->handle == handle;
    return is_found ? low : emu.page_count;
}

static CUresult page_release(CUmemGenericAllocationHandle handle)
{
    const cudaError_t code = enter(EMU_cuMemRelease);
    const size_t at = code == cudaSuccess ? page_index(handle) : 0;
    if (code != cudaSuccess || at == emu.page_count)
        return leave(code != cudaSuccess ? code : cudaErrorInvalidValue);
    emu_memory *const memory = emu.pages[at];
    emu_remove(&emu.pages, &emu.page_count, at, sizeof(emu_memory *));
    memory->is_released = true;
    emu_memory_drop(memory);
    return leave(code);
}

/* ---- mappings ---- */

static bool is_reserved(uintptr_t address, size_t size)
{
    const emu_range *const range = range_at(address);
    return range != NULL && address - range->base <= range->size - size &&
           size <= range->size;
}

static cudaError_t map(uintptr_t address, size_t size, emu_memory *memory)
{
    if (address % emu.config.granularity != 0 || size != memory->size ||
        !is_reserved(address, size) || !is_empty(address, size))
        return cudaErrorInvalidValue;
    if (mmap((void *)address, size, PROT_NONE, MAP_SHARED | MAP_FIXED,
             emu.devices[memory->device].file, memory->offset) == MAP_FAILED)
        abort();
    const size_t at = emu_mapping_after(address);
    emu_insert(&emu.mappings, &emu.mapping_count, at, sizeof(emu_mapping));
    emu.mappings[at] = (emu_mapping){.address = address, .memory = memory};
    memory->mappings++;
    return cudaSuccess;
}

static CUresult page_map(CUdeviceptr address, size_t size, size_t offset,
                         CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    cudaError_t code = enter(EMU_cuMemMap);
    const size_t at = code == cudaSuccess ? page_index(handle) : 0;
    if (code == cudaSuccess)
        code = offset == 0 && flags == 0 && at < emu.page_count
                   ? map((uintptr_t)address, size, emu.pages[at])
                   : cudaErrorInvalidValue;
    return leave(code);
}

/* The mappings that make up exactly these bytes; 0 if there are no such. */
static size_t mappings_of(uintptr_t address, size_t size, size_t *out_first)
{
    const size_t after = emu_mapping_after(address);
    if (after == 0 || emu.mappings[after - 1].address != address)
        return 0;
    uintptr_t at = address;
    size_t i = after - 1;
    for (; i < emu.mapping_count && at < address + size; i++) {
        if (emu.mappings[i].address != at || emu.mappings[i].is_plain)
            return 0;
        at += emu.mappings[i].memory->size;
    }
    *out_first = after - 1;
    return at == address + size ? i - *out_first : 0;
}

static void unmap_one(size_t at)
{
    emu_memory *const memory = emu.mappings[at].memory;
    emu_order_release(memory, "cuMemUnmap");
    map_nothing(emu.mappings[at].address, memory->size);
    emu_remove(&emu.mappings, &emu.mapping_count, at, sizeof(emu_mapping));
    memory->mappings--;
    emu_memory_drop(memory);
}

static CUresult page_unmap(CUdeviceptr address, size_t size)
{
    cudaError_t code = enter(EMU_cuMemUnmap);
    size_t first = 0;
    const size_t count =
        code == cudaSuccess ? mappings_of((uintptr_t)address, size, &first) : 0;
    if (code == cudaSuccess && count == 0)
        code = cudaErrorInvalidValue;
    for (size_t i = 0; i < count; i++)
        unmap_one(first);
    return leave(code);
}

static cudaError_t grant(emu_mapping *mapping, const CUmemAccessDesc *access)
{
    const bool is_open = access->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    if (access->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        access->location.id < 0 || access->location.id >= emu.config.devices)
        return cudaErrorInvalidValue;
    mapping->access &= ~(1u << access->location.id);
    mapping->access |= (unsigned)is_open << access->location.id;
    if (mprotect((void *)mapping->address, mapping->memory->size,
                 mapping->access != 0 ? PROT_READ | PROT_WRITE : PROT_NONE) != 0)
        abort();
    return cudaSuccess;
}

static CUresult set_access(CUdeviceptr address, size_t size,
                           const CUmemAccessDesc *accesses, size_t access_count)
{
    cudaError_t code = enter(EMU_cuMemSetAccess);
    size_t first = 0;
    const size_t count =
        code == cudaSuccess ? mappings_of((uintptr_t)address, size, &first) : 0;
    if (code == cudaSuccess && count == 0)
        code = cudaErrorInvalidValue;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < access_count && code == cudaSuccess; j++)
            code = grant(&emu.mappings[first + i], &accesses[j]);
    return leave(code);
}

/* ---- by name ---- */

#define FUNCTION(f) ((void *)(uintptr_t)(f))

void *emu_page_call(const char *name)
{
    const struct {
        const char *name;
        void *function;
    } calls[] = {
        {"cuMemGetAllocationGranularity", FUNCTION(granularity)},
        {"cuMemAddressReserve", FUNCTION(address_reserve)},
        {"cuMemAddressFree", FUNCTION(address_free)},
        {"cuMemCreate", FUNCTION(page_create)},
        {"cuMemRelease", FUNCTION(page_release)},
        {"cuMemMap", FUNCTION(page_map)},
        {"cuMemUnmap", FUNCTION(page_unmap)},
        {"cuMemSetAccess", FUNCTION(set_access)},
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (strcmp(name, calls[i].name) == 0)
            return calls[i].function;
    return NULL;
}
