/* SPDX-License-Identifier: MIT */

/* Devices, and the driver's calls by name and version. */

#include "emulator_machine.h"

#include <cuda.h>
#include <stdio.h>
#include <string.h>

cudaError_t cudaGetDeviceCount(int *count)
{
    const cudaError_t code = emu_enter(EMU_cudaGetDeviceCount);
    if (code == cudaSuccess)
        *count = emu.config.devices;
    return emu_leave(code);
}

cudaError_t cudaGetDevice(int *device)
{
    const cudaError_t code = emu_enter(EMU_cudaGetDevice);
    if (code == cudaSuccess)
        *device = emu_here()->device;
    return emu_leave(code);
}

static bool is_device(int device)
{
    return device >= 0 && device < emu.config.devices;
}

cudaError_t cudaSetDevice(int device)
{
    cudaError_t code = emu_enter(EMU_cudaSetDevice);
    if (code == cudaSuccess && !is_device(device))
        code = cudaErrorInvalidDevice;
    if (code == cudaSuccess)
        emu_here()->device = device;
    return emu_leave(code);
}

cudaError_t cudaDeviceSynchronize(void)
{
    cudaError_t code = emu_enter(EMU_cudaDeviceSynchronize);
    if (code == cudaSuccess)
        code = emu_capture_allows_waiting_for_device(emu_here()->device);
    if (code == cudaSuccess)
        code = emu_wait_for_device(emu_here()->device);
    return emu_leave(code);
}

/* Attributes have one number in the runtime and in the driver. */
static cudaError_t attribute(int *value, int name, int device)
{
    if (!is_device(device))
        return cudaErrorInvalidDevice;
    switch (name) {
    case CU_DEVICE_ATTRIBUTE_INTEGRATED:
        *value = emu.config.integrated;
        return cudaSuccess;
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
        *value = !emu.config.no_pages;
        return cudaSuccess;
    default:
        *value = 0;
        return cudaSuccess;
    }
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr name, int device)
{
    cudaError_t code = emu_enter(EMU_cudaDeviceGetAttribute);
    if (code == cudaSuccess)
        code = attribute(value, (int)name, device);
    return emu_leave(code);
}

/* ---- the driver's ---- */

static CUresult get_attribute(int *value, CUdevice_attribute name, CUdevice device)
{
    cudaError_t code = emu_enter(EMU_cuDeviceGetAttribute);
    if (code == cudaSuccess)
        code = attribute(value, (int)name, device);
    return (CUresult)emu_leave_driver(code);
}

static CUresult get_name(char *name, int size, CUdevice device)
{
    cudaError_t code = emu_enter(EMU_cuDeviceGetName);
    if (code == cudaSuccess && !is_device(device))
        code = cudaErrorInvalidDevice;
    if (code == cudaSuccess)
        snprintf(name, (size_t)size, "Emulated CUDA device %d", device);
    return (CUresult)emu_leave_driver(code);
}

static CUresult total_memory(size_t *bytes, CUdevice device)
{
    cudaError_t code = emu_enter(EMU_cuDeviceTotalMem);
    if (code == cudaSuccess && !is_device(device))
        code = cudaErrorInvalidDevice;
    if (code == cudaSuccess)
        *bytes = emu.config.capacity;
    return (CUresult)emu_leave_driver(code);
}

#define FUNCTION(f) ((void *)(uintptr_t)(f))

static void *call_of(const char *name)
{
    if (strcmp(name, "cuDeviceGetAttribute") == 0)
        return FUNCTION(get_attribute);
    if (strcmp(name, "cuDeviceGetName") == 0)
        return FUNCTION(get_name);
    if (strcmp(name, "cuDeviceTotalMem") == 0)
        return FUNCTION(total_memory);
    if (strcmp(name, "cuStreamGetCaptureInfo") == 0)
        return emu_capture_call();
    return emu_page_call(name);
}

/* Of the calls that changed their form, the one form that is emulated. */
static bool is_this_form(const char *name, unsigned version)
{
    if (strcmp(name, "cuStreamGetCaptureInfo") == 0)
        return version >= 11030 && version < 12030;
    return strcmp(name, "cuDeviceTotalMem") != 0 || version >= 3020;
}

static enum cudaDriverEntryPointQueryResult look_up(const char *name, unsigned version,
                                                    void **function)
{
    void *const call = call_of(name);
    *function = NULL;
    if (call == NULL || !is_this_form(name, version))
        return cudaDriverEntryPointSymbolNotFound;
    if (version > (unsigned)emu.driver_version)
        return cudaDriverEntryPointVersionNotSufficent;
    *function = call;
    return cudaDriverEntryPointSuccess;
}

cudaError_t
cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version,
                                 unsigned long long flags,
                                 enum cudaDriverEntryPointQueryResult *found)
{
    cudaError_t code = emu_enter(EMU_cudaGetDriverEntryPointByVersion);
    if (code == cudaSuccess && flags != cudaEnableDefault)
        code = cudaErrorInvalidValue;
    if (code == cudaSuccess)
        *found = look_up(name, version, function);
    return emu_leave(code);
}
