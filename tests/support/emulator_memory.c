/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

/* Physical memory, what is seen of it at which address, and cudaMalloc.
 *
 * Each device has one sparse file; a page is a piece of it, so that one page
 * mapped at two addresses is one memory. Pieces are never given out twice: a
 * page dropped leaves a hole. */

#include "emulator_machine.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALLOCATION_UNIT = 512, HOST_PAGE = 4096 };

/* ---- addresses ---- */

size_t emu_mapping_after(uintptr_t address)
{
    size_t low = 0;
    size_t high = emu.mapping_count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (emu.mappings[middle].address > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

emu_mapping *emu_mapping_at(uintptr_t address)
{
    const size_t after = emu_mapping_after(address);
    if (after == 0)
        return NULL;
    emu_mapping *const mapping = &emu.mappings[after - 1];
    return address - mapping->address < mapping->memory->size ? mapping : NULL;
}

bool emu_is_device_address(const void *data)
{
    const uintptr_t address = (uintptr_t)data;
    for (size_t i = 0; i < emu.range_count; i++)
        if (address - emu.ranges[i].base < emu.ranges[i].size)
            return true;
    return emu_mapping_at(address) != NULL;
}

/* ---- physical memory ---- */

emu_memory *emu_memory_make(int device, size_t size)
{
    emu_device *const owner = &emu.devices[device];
    if (size > emu.config.capacity - owner->used)
        return NULL;
    emu_memory *const memory = emu_alloc(sizeof *memory);
    *memory = (emu_memory){.device = device, .size = size, .offset = owner->file_end};
    owner->used += size;
    owner->file_end += (off_t)((size + HOST_PAGE - 1) & ~(size_t)(HOST_PAGE - 1));
    if (ftruncate(owner->file, owner->file_end) != 0)
        abort();
    return memory;
}

void emu_memory_drop(emu_memory *memory)
{
    if (!memory->is_released || memory->mappings > 0)
        return;
    emu.devices[memory->device].used -= memory->size;
    (void)fallocate(emu.devices[memory->device].file,
                    FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, memory->offset,
                    (off_t)memory->size);
    free(memory->past);
    free(memory);
}

void emu_memory_boot(void)
{
    for (int device = 0; device < emu.config.devices; device++) {
        emu.devices[device].file = memfd_create("emulated device", MFD_CLOEXEC);
        if (emu.devices[device].file < 0)
            abort();
    }
}

static void forget_mapping(const emu_mapping *mapping)
{
    emu_memory *const memory = mapping->memory;
    munmap((void *)mapping->address, memory->size);
    if (--memory->mappings == 0 && memory->is_released) {
        free(memory->past);
        free(memory);
    }
}

void emu_memory_halt(void)
{
    for (size_t i = 0; i < emu.mapping_count; i++)
        forget_mapping(&emu.mappings[i]);
    for (size_t i = 0; i < emu.range_count; i++)
        munmap((void *)emu.ranges[i].base, emu.ranges[i].size);
    for (size_t i = 0; i < emu.page_count; i++) {
        free(emu.pages[i]->past);
        free(emu.pages[i]);
    }
    for (int device = 0; device < emu.config.devices; device++)
        close(emu.devices[device].file);
    free(emu.mappings);
    free(emu.ranges);
    free(emu.pages);
}

/* ---- cudaMalloc ---- */

static void see(emu_memory *memory, void *address)
{
    const size_t at = emu_mapping_after((uintptr_t)address);
    emu_insert(&emu.mappings, &emu.mapping_count, at, sizeof(emu_mapping));
    emu.mappings[at] = (emu_mapping){.address = (uintptr_t)address,
                                     .memory = memory,
                                     .access = 1u << memory->device,
                                     .is_plain = true};
    memory->is_released = true;
    memory->mappings = 1;
}

static cudaError_t allocate(void **data, size_t size)
{
    const int device = emu_here()->device;
    if (size > emu.config.capacity)
        return cudaErrorMemoryAllocation;
    const size_t whole = (size + ALLOCATION_UNIT - 1) & ~(size_t)(ALLOCATION_UNIT - 1);
    emu_memory *const memory = whole > 0 ? emu_memory_make(device, whole) : NULL;
    if (whole == 0)
        *data = NULL;
    if (memory == NULL)
        return whole == 0 ? cudaSuccess : cudaErrorMemoryAllocation;
    void *const address = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_SHARED,
                               emu.devices[device].file, memory->offset);
    if (address == MAP_FAILED)
        abort();
    see(memory, address);
    *data = address;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **data, size_t size)
{
    cudaError_t code = emu_enter(EMU_cudaMalloc);
    if (code == cudaSuccess)
        code = emu_capture_unsafe();
    if (code == cudaSuccess)
        code = allocate(data, size);
    return emu_leave(code);
}

static cudaError_t release(const void *data)
{
    emu_mapping *const mapping = emu_mapping_at((uintptr_t)data);
    if (data == NULL)
        return cudaSuccess;
    if (mapping == NULL || !mapping->is_plain || mapping->address != (uintptr_t)data)
        return cudaErrorInvalidValue;
    emu_memory *const memory = mapping->memory;
    emu_order_release(memory, "cudaFree");
    munmap((void *)mapping->address, memory->size);
    emu_remove(&emu.mappings, &emu.mapping_count, (size_t)(mapping - emu.mappings),
               sizeof *mapping);
    memory->mappings = 0;
    emu_memory_drop(memory);
    return cudaSuccess;
}

cudaError_t cudaFree(void *data)
{
    cudaError_t code = emu_enter(EMU_cudaFree);
    if (code == cudaSuccess)
        code = emu_capture_unsafe();
    if (code == cudaSuccess)
        code = release(data);
    return emu_leave(code);
}

cudaError_t cudaMemGetInfo(size_t *out_free, size_t *out_total)
{
    const cudaError_t code = emu_enter(EMU_cudaMemGetInfo);
    if (code == cudaSuccess) {
        *out_total = emu.config.capacity;
        *out_free = emu.config.capacity - emu.devices[emu_here()->device].used;
    }
    return emu_leave(code);
}
