/* A stand-in for libnvidia-ml.so.1 that describes any machine, healthy or broken.
 *
 * At nvmlInit it reads "key=value" lines from the file named by SELWIZ_FAKE_NVML:
 *   driver.version, driver.nvml, driver.cuda        strings, and CUDA as an integer (13000)
 *   count                                           number of GPUs
 *   gpu.I.KEY                                       a value of GPU I
 *   gpu.I.mig.J.KEY                                 a value of slice J of GPU I
 *   link.A.B.KEY                                    of a pair, A < B: nvlink, read, write, atomics, ancestor
 *   lost.I                                          GPU I is off the bus
 *   return.SYMBOL, return.SYMBOL@I                  the code that a call returns (of GPU I only)
 *   from_call.SYMBOL                                ... but only from the n-th call on (counted from 1)
 *   delay_ms.SYMBOL, delay_ms.SYMBOL@I              how long the call takes
 *   crash.SYMBOL, crash.SYMBOL@I                    the call dies of SIGSEGV
 * A value that is not described is "not supported" (3). A string that starts with "hex:" is raw bytes.
 * Struct layouts and codes follow nvml.h, API version 13. Calls not written here are generated stubs that return 3.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef unsigned int u32;
typedef unsigned long long u64;
typedef struct { int gpu, mig; } Device;

enum { OK = 0, UNINITIALIZED = 1, INVALID = 2, UNSUPPORTED = 3, MISSING = 6, TOO_SMALL = 7, LOST = 15, BAD_VERSION = 25 };

#define MOST_LINES 8192
#define MOST_GPUS 64
#define MOST_SLICES 16
static struct { char *key, *value; int calls; } lines[MOST_LINES];
static int line_count, inits;
static Device devices[MOST_GPUS], slices[MOST_GPUS][MOST_SLICES];

static int find(const char *key) {
    for (int i = 0; i < line_count; i++)
        if (!strcmp(lines[i].key, key)) return i;
    return -1;
}

static const char *get(const char *key) {
    int i = find(key);
    return i < 0 ? NULL : lines[i].value;
}

static void read_scenario(void) {
    const char *path = getenv("SELWIZ_FAKE_NVML");
    FILE *file = path ? fopen(path, "r") : NULL;
    char line[1024];
    line_count = 0;
    while (file && line_count < MOST_LINES && fgets(line, sizeof line, file)) {
        char *equals = strchr(line, '=');
        if (!equals) continue;
        *equals = 0;
        equals[1 + strcspn(equals + 1, "\n")] = 0;
        lines[line_count].key = strdup(line);
        lines[line_count].calls = 0;
        lines[line_count++].value = strdup(equals + 1);
    }
    if (file) fclose(file);
}

/* Find a fault by symbol and GPU, or by symbol alone. */
static int fault(const char *kind, const char *symbol, int gpu) {
    char key[256];
    snprintf(key, sizeof key, "%s.%s@%d", kind, symbol, gpu);
    int i = gpu < 0 ? -1 : find(key);
    if (i >= 0) return i;
    snprintf(key, sizeof key, "%s.%s", kind, symbol);
    return find(key);
}

/* What every call does first; not 0: return this at once. */
static int enter(const char *symbol, int gpu) {
    char key[256];
    int i = fault("delay_ms", symbol, gpu);
    if (i >= 0) {
        long ms = atol(lines[i].value);
        struct timespec wait = {ms / 1000, ms % 1000 * 1000000};
        nanosleep(&wait, NULL);
    }
    if (fault("crash", symbol, gpu) >= 0) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
    i = fault("return", symbol, gpu);
    if (i >= 0) {
        snprintf(key, sizeof key, "from_call.%s", symbol);
        const char *from = get(key);
        if (++lines[i].calls >= (from ? atoi(from) : 1)) return atoi(lines[i].value);
    }
    if (!inits && strncmp(symbol, "nvmlInit", 8)) return UNINITIALIZED;
    snprintf(key, sizeof key, "lost.%d", gpu);
    return gpu >= 0 && get(key) ? LOST : OK;
}

static const char *of(const Device *device, const char *name) {
    char key[256];
    if (device->mig < 0) snprintf(key, sizeof key, "gpu.%d.%s", device->gpu, name);
    else snprintf(key, sizeof key, "gpu.%d.mig.%d.%s", device->gpu, device->mig, name);
    return get(key);
}

static int put_string(const char *value, char *buffer, u32 size) {
    if (!value) return UNSUPPORTED;
    if (!strncmp(value, "hex:", 4)) {
        u32 length = 0, byte;
        for (value += 4; sscanf(value, "%2x", &byte) == 1 && length + 1 < size; value += 2) buffer[length++] = (char)byte;
        buffer[length] = 0;
        return OK;
    }
    if (strlen(value) >= size) return TOO_SMALL;
    strcpy(buffer, value);
    return OK;
}

static int put_u32(const char *value, u32 *out) {
    if (!value) return UNSUPPORTED;
    *out = (u32)strtoul(value, NULL, 10);
    return OK;
}

#define ENTER(symbol, gpu) do { int code_ = enter(symbol, gpu); if (code_) return code_; } while (0)

int nvmlInitWithFlags(u32 flags) {
    (void)flags;
    read_scenario();
    ENTER("nvmlInitWithFlags", -1);
    for (int i = 0; i < MOST_GPUS; i++) {
        devices[i] = (Device){i, -1};
        for (int j = 0; j < MOST_SLICES; j++) slices[i][j] = (Device){i, j};
    }
    inits++;
    return OK;
}
int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlShutdown(void) { ENTER("nvmlShutdown", -1); inits--; return OK; }
const char *nvmlErrorString(int code) { return code == 26 ? "Deprecated" : code == 25 ? "Version Mismatch" : "an error"; }

int nvmlSystemGetDriverVersion(char *b, u32 n) { ENTER("nvmlSystemGetDriverVersion", -1); return put_string(get("driver.version"), b, n); }
int nvmlSystemGetNVMLVersion(char *b, u32 n) { ENTER("nvmlSystemGetNVMLVersion", -1); return put_string(get("driver.nvml"), b, n); }
int nvmlSystemGetCudaDriverVersion_v2(int *v) { ENTER("nvmlSystemGetCudaDriverVersion_v2", -1); return put_u32(get("driver.cuda"), (u32 *)v); }
int nvmlSystemGetCudaDriverVersion(int *v) { ENTER("nvmlSystemGetCudaDriverVersion", -1); return put_u32(get("driver.cuda"), (u32 *)v); }
int nvmlDeviceGetCount_v2(u32 *n) { ENTER("nvmlDeviceGetCount_v2", -1); return put_u32(get("count"), n); }

int nvmlDeviceGetHandleByIndex_v2(u32 i, Device **d) {
    const char *count = get("count");
    if (!count || i >= (u32)atoi(count) || i >= MOST_GPUS) return INVALID;
    ENTER("nvmlDeviceGetHandleByIndex_v2", (int)i);
    *d = &devices[i];
    return OK;
}

#define STRING(symbol, key) \
    int symbol(Device *d, char *b, u32 n) { ENTER(#symbol, d->gpu); return put_string(of(d, key), b, n); }
STRING(nvmlDeviceGetName, "name")
STRING(nvmlDeviceGetUUID, "uuid")
STRING(nvmlDeviceGetBoardPartNumber, "part_number")

#define NUMBER(symbol, key) \
    int symbol(Device *d, u32 *v) { ENTER(#symbol, d->gpu); return put_u32(of(d, key), v); }
NUMBER(nvmlDeviceGetArchitecture, "architecture")
NUMBER(nvmlDeviceGetBrand, "brand")
NUMBER(nvmlDeviceGetNumGpuCores, "cuda_cores")
NUMBER(nvmlDeviceGetMemoryBusWidth, "bus_width_bits")
NUMBER(nvmlDeviceGetEnforcedPowerLimit, "power_limit_mw")
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, "power_default_mw")
NUMBER(nvmlDeviceGetPowerUsage, "power_usage_mw")
NUMBER(nvmlDeviceGetPersistenceMode, "persistence")
NUMBER(nvmlDeviceGetComputeMode, "compute_mode")
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, "pcie_gen_max")
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, "pcie_gen_current")
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, "pcie_width_max")
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, "pcie_width_current")
NUMBER(nvmlDeviceGetVirtualizationMode, "virtualization")
NUMBER(nvmlDeviceGetMinorNumber, "minor")
NUMBER(nvmlDeviceGetMaxMigDeviceCount, "mig_max")
NUMBER(nvmlDeviceGetGpuInstanceId, "gpu_instance_id")
NUMBER(nvmlDeviceGetComputeInstanceId, "compute_instance_id")
NUMBER(nvmlDeviceGetGpuMaxPcieLinkGeneration, "pcie_gen_device_max")
NUMBER(nvmlDeviceGetNumaNodeId, "own_numa_node")
NUMBER(nvmlDeviceGetC2cModeInfoV, "c2c")

#define LONG_NUMBER(symbol, key) \
    int symbol(Device *d, u64 *v) { \
        ENTER(#symbol, d->gpu); \
        const char *text = of(d, key); \
        if (text) *v = strtoull(text, NULL, 10); \
        return text ? OK : UNSUPPORTED; \
    }
LONG_NUMBER(nvmlDeviceGetTotalEnergyConsumption, "energy_mj")
LONG_NUMBER(nvmlDeviceGetCurrentClocksEventReasons, "clock_reasons")
LONG_NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, "clock_reasons")
LONG_NUMBER(nvmlDeviceGetBAR1MemoryInfo, "bar1_total_bytes")

int nvmlDeviceGetPowerManagementLimitConstraints(Device *d, u32 *least, u32 *most) {
    ENTER("nvmlDeviceGetPowerManagementLimitConstraints", d->gpu);
    *least = 0;
    return put_u32(of(d, "power_max_mw"), most);
}
int nvmlDeviceGetMaxClockInfo(Device *d, int kind, u32 *mhz) {
    ENTER("nvmlDeviceGetMaxClockInfo", d->gpu);
    return put_u32(of(d, kind == 2 ? "max_mem_clock_mhz" : "max_sm_clock_mhz"), mhz);
}
int nvmlDeviceGetClockInfo(Device *d, int kind, u32 *mhz) {
    ENTER("nvmlDeviceGetClockInfo", d->gpu);
    return put_u32(of(d, kind == 2 ? "mem_clock_mhz" : "sm_clock_mhz"), mhz);
}
int nvmlDeviceGetTemperature(Device *d, int sensor, u32 *c) {
    ENTER("nvmlDeviceGetTemperature", d->gpu);
    return sensor ? INVALID : put_u32(of(d, "temperature_c"), c);
}
typedef struct { u32 version, sensor, value; } Temperature;
int nvmlDeviceGetTemperatureV(Device *d, Temperature *t) {
    ENTER("nvmlDeviceGetTemperatureV", d->gpu);
    return t->version == 0x0100000C ? put_u32(of(d, "temperature_c"), &t->value) : BAD_VERSION;
}
typedef struct { u32 version, value; } Versioned;
int nvmlDeviceGetMarginTemperature(Device *d, Versioned *t) {
    ENTER("nvmlDeviceGetMarginTemperature", d->gpu);
    return t->version == 0x01000008 ? put_u32(of(d, "temperature_margin_c"), &t->value) : BAD_VERSION;
}
int nvmlDeviceGetTotalEccErrors(Device *d, int kind, int since, u64 *n) {
    ENTER("nvmlDeviceGetTotalEccErrors", d->gpu);
    const char *v = of(d, kind ? "ecc_uncorrected" : "ecc_corrected");
    if (since != 1) return INVALID;
    if (v) *n = strtoull(v, NULL, 10);
    return v ? OK : UNSUPPORTED;
}
int nvmlDeviceGetRemappedRows(Device *d, u32 *corrected, u32 *uncorrected, u32 *pending, u32 *failed) {
    ENTER("nvmlDeviceGetRemappedRows", d->gpu);
    const char *v = of(d, "remapped_rows");  /* "corrected uncorrected pending failed" */
    return v && sscanf(v, "%u %u %u %u", corrected, uncorrected, pending, failed) == 4 ? OK : UNSUPPORTED;
}
typedef struct { u32 gpu, memory; } Utilization;
int nvmlDeviceGetUtilizationRates(Device *d, Utilization *u) {
    ENTER("nvmlDeviceGetUtilizationRates", d->gpu);
    const char *mig = of(d, "mig_mode");
    u->memory = 0;
    return mig && atoi(mig) ? UNSUPPORTED : put_u32(of(d, "utilization"), &u->gpu);
}
static int put_mask(const char *value, u32 words, u64 *mask) {
    if (!value) return UNSUPPORTED;
    memset(mask, 0, words * sizeof *mask);
    mask[0] = strtoull(value, NULL, 16);
    return OK;
}
int nvmlDeviceGetCpuAffinity(Device *d, u32 words, u64 *mask) {
    ENTER("nvmlDeviceGetCpuAffinity", d->gpu);
    return put_mask(of(d, "cpu_mask"), words, mask);
}
int nvmlDeviceGetMemoryAffinity(Device *d, u32 words, u64 *mask, u32 scope) {
    ENTER("nvmlDeviceGetMemoryAffinity", d->gpu);
    return scope ? INVALID : put_mask(of(d, "node_mask"), words, mask);
}
typedef struct { u32 version; char branch[80]; } Branch;
int nvmlSystemGetDriverBranch(Branch *b, u32 n) {
    ENTER("nvmlSystemGetDriverBranch", -1);
    return b->version == 0x01000054 ? put_string(get("driver.branch"), b->branch, n) : BAD_VERSION;
}
typedef struct { u32 environment, on, tools; } ConfidentialComputing;
int nvmlSystemGetConfComputeState(ConfidentialComputing *c) {
    ENTER("nvmlSystemGetConfComputeState", -1);
    memset(c, 0, sizeof *c);
    return put_u32(get("driver.confidential_computing"), &c->on);
}
int nvmlDeviceGetCudaComputeCapability(Device *d, int *major, int *minor) {
    ENTER("nvmlDeviceGetCudaComputeCapability", d->gpu);
    const char *v = of(d, "compute_capability");
    return v && sscanf(v, "%d.%d", major, minor) == 2 ? OK : UNSUPPORTED;
}
static int now_and_pending(const Device *d, const char *key, const char *pending, u32 *now, u32 *next) {
    int code = put_u32(of(d, key), now);
    *next = *now;
    if (of(d, pending)) put_u32(of(d, pending), next);
    return code;
}
int nvmlDeviceGetEccMode(Device *d, u32 *now, u32 *next) {
    ENTER("nvmlDeviceGetEccMode", d->gpu);
    return now_and_pending(d, "ecc", "ecc_pending", now, next);
}
int nvmlDeviceGetMigMode(Device *d, u32 *now, u32 *next) {
    ENTER("nvmlDeviceGetMigMode", d->gpu);
    return now_and_pending(d, "mig_mode", "mig_pending", now, next);
}
int nvmlDeviceGetMigDeviceHandleByIndex(Device *d, u32 j, Device **child) {
    ENTER("nvmlDeviceGetMigDeviceHandleByIndex", d->gpu);
    if (j >= MOST_SLICES) return INVALID;
    *child = &slices[d->gpu][j];
    return of(*child, "uuid") ? OK : MISSING;
}
int nvmlDeviceIsMigDeviceHandle(Device *d, u32 *is) { *is = d->mig >= 0; return OK; }

typedef struct { u64 total, free, used; } Memory;
typedef struct { u32 version; u64 total, reserved, free, used; } MemoryV2;
static int memory(const Device *d, MemoryV2 *m) {
    const char *total = of(d, "memory_total_bytes"), *reserved = of(d, "memory_reserved_bytes"), *used = of(d, "memory_used_bytes");
    if (!total) return UNSUPPORTED;
    m->total = strtoull(total, NULL, 10);
    m->reserved = reserved ? strtoull(reserved, NULL, 10) : 0;
    m->used = used ? strtoull(used, NULL, 10) : 0;
    m->free = m->total - m->reserved - m->used;
    return OK;
}
/* Faults can be aimed at the slices alone: nvmlDeviceGetMemoryInfo_v2 is never reached through the parent's name then. */
int nvmlDeviceGetMemoryInfo_v2(Device *d, MemoryV2 *m) {
    ENTER(d->mig < 0 ? "nvmlDeviceGetMemoryInfo_v2" : "mig.nvmlDeviceGetMemoryInfo_v2", d->gpu);
    return m->version == 0x02000028 ? memory(d, m) : BAD_VERSION;
}
int nvmlDeviceGetMemoryInfo(Device *d, Memory *m) {
    ENTER(d->mig < 0 ? "nvmlDeviceGetMemoryInfo" : "mig.nvmlDeviceGetMemoryInfo", d->gpu);
    MemoryV2 v2;
    int code = memory(d, &v2);
    if (!code) *m = (Memory){v2.total, v2.free, v2.used + v2.reserved};  /* as drivers since R510 do */
    return code;
}

typedef struct { u32 sm, copy, decoders, encoders, jpeg, ofa, gpu_slices, compute_slices; u64 memory_mb; } Attributes;
int nvmlDeviceGetAttributes_v2(Device *d, Attributes *a) {
    ENTER("nvmlDeviceGetAttributes_v2", d->gpu);
    memset(a, 0, sizeof *a);
    return d->mig < 0 ? UNSUPPORTED : put_u32(of(d, "multiprocessors"), &a->sm);
}

typedef struct { char legacy[16]; u32 domain, bus, device, id, subsystem; char bus_id[32]; } Pci;
static int put_pci(const char *id, Pci *p) {
    u32 domain, bus, device;
    if (!id || sscanf(id, "%x:%x:%x", &domain, &bus, &device) != 3) return UNSUPPORTED;
    memset(p, 0, sizeof *p);
    p->domain = domain; p->bus = bus; p->device = device;
    snprintf(p->bus_id, sizeof p->bus_id, "%08X:%02X:%02X.0", domain, bus, device);
    snprintf(p->legacy, sizeof p->legacy, "%04X:%02X:%02X.0", domain & 0xffff, bus & 0xff, device & 0xff);
    return OK;
}
int nvmlDeviceGetPciInfo_v3(Device *d, Pci *p) { ENTER("nvmlDeviceGetPciInfo_v3", d->gpu); return put_pci(of(d, "pci"), p); }

static int links(const Device *d) { const char *v = of(d, "nvlinks"); return v ? atoi(v) : -1; }
int nvmlDeviceGetNvLinkState(Device *d, u32 link, u32 *active) {
    ENTER("nvmlDeviceGetNvLinkState", d->gpu);
    if (links(d) < 0) return UNSUPPORTED;
    if (link >= (u32)links(d)) return INVALID;
    const char *up = of(d, "nvlinks_active");
    *active = link < (u32)(up ? atoi(up) : links(d));
    return OK;
}
int nvmlDeviceGetNvLinkVersion(Device *d, u32 link, u32 *version) {
    ENTER("nvmlDeviceGetNvLinkVersion", d->gpu);
    return (int)link < links(d) ? put_u32(of(d, "nvlink_version"), version) : INVALID;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(Device *d, u32 link, u32 *kind) {
    ENTER("nvmlDeviceGetNvLinkRemoteDeviceType", d->gpu);
    (void)link;
    *kind = of(d, "nvlink_peer") ? 0 : 2;  /* a GPU, or a switch */
    return links(d) < 0 ? UNSUPPORTED : OK;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(Device *d, u32 link, Pci *p) {
    ENTER("nvmlDeviceGetNvLinkRemotePciInfo_v2", d->gpu);
    (void)link;
    const char *peer = of(d, "nvlink_peer");
    return peer ? put_pci(of(&devices[atoi(peer)], "pci"), p) : UNSUPPORTED;
}

typedef struct { u32 id, scope; long long at, latency; u32 kind, code; union { u32 ui; u64 ull; } value; } Field;
int nvmlDeviceGetFieldValues(Device *d, int n, Field *fields) {
    ENTER("nvmlDeviceGetFieldValues", d->gpu);
    for (int i = 0; i < n; i++) {
        char key[64];
        snprintf(key, sizeof key, "field.%u", fields[i].id);
        const char *own = of(d, key), *known = own;
        if (!own && fields[i].id == 91) known = of(d, "nvlinks");
        if (!own && fields[i].id == 164) known = of(d, "nvlink_speed_mb_s");
        fields[i].kind = 1;
        fields[i].code = (u32)put_u32(known, &fields[i].value.ui);
    }
    return OK;
}

static const char *of_pair(const Device *a, const Device *b, const char *name) {
    char key[64];
    int low = a->gpu < b->gpu ? a->gpu : b->gpu, high = a->gpu < b->gpu ? b->gpu : a->gpu;
    snprintf(key, sizeof key, "link.%d.%d.%s", low, high, name);
    return get(key);
}
int nvmlDeviceGetP2PStatus(Device *a, Device *b, int index, u32 *status) {
    ENTER("nvmlDeviceGetP2PStatus", a->gpu);
    static const char *const names[] = {"read", "write", "nvlink", "atomics"};
    return index < 0 || index > 3 ? INVALID : put_u32(of_pair(a, b, names[index]), status);
}
int nvmlDeviceGetTopologyCommonAncestor(Device *a, Device *b, u32 *level) {
    ENTER("nvmlDeviceGetTopologyCommonAncestor", a->gpu);
    return put_u32(of_pair(a, b, "ancestor"), level);
}

typedef struct { u32 version; unsigned char cluster[16]; u32 status, clique, state, mask; unsigned char summary; } Fabric;
int nvmlDeviceGetGpuFabricInfoV(Device *d, Fabric *f) {
    ENTER("nvmlDeviceGetGpuFabricInfoV", d->gpu);
    const char *newest = of(d, "fabric_version");
    if (f->version != 0x02000024 && (f->version != 0x03000028 || (newest && atoi(newest) < 3))) return BAD_VERSION;
    f->status = f->clique = 0;
    memset(f->cluster, of(d, "fabric_cluster") ? 1 : 0, sizeof f->cluster);
    if (of(d, "fabric_clique")) put_u32(of(d, "fabric_clique"), &f->clique);
    if (f->version == 0x03000028) f->summary = (unsigned char)(of(d, "fabric_health") ? atoi(of(d, "fabric_health")) : 0);
    if (of(d, "fabric_status")) put_u32(of(d, "fabric_status"), &f->status);
    return put_u32(of(d, "fabric_state"), &f->state);
}
int nvmlDeviceGetAddressingMode(Device *d, Versioned *m) {
    ENTER("nvmlDeviceGetAddressingMode", d->gpu);
    return m->version == 0x01000008 ? put_u32(of(d, "addressing_mode"), &m->value) : BAD_VERSION;
}
typedef struct { u32 pid; u64 memory; u32 gpu_instance, compute_instance; } Process;
/* Processes are "pid bytes" pairs with commas; bytes "?" is what WSL says: all ones. */
static int processes(const char *symbol, const Device *d, u32 *count, Process *out) {
    ENTER(symbol, d->gpu);
    const char *text = of(d, "processes");
    u32 have = 0, room = *count;
    for (const char *at = text; at && *at; at = strchr(at, ','), at = at ? at + 1 : NULL, have++)
        if (out && have < room) {
            char bytes[32] = "";
            out[have] = (Process){0, ~0ULL, ~0u, ~0u};
            if (sscanf(at, "%u %31[^,]", &out[have].pid, bytes) == 2 && bytes[0] != '?') out[have].memory = strtoull(bytes, NULL, 10);
        }
    *count = have;
    return have > room ? TOO_SMALL : OK;
}
int nvmlDeviceGetComputeRunningProcesses_v3(Device *d, u32 *n, Process *p) { return processes("nvmlDeviceGetComputeRunningProcesses_v3", d, n, p); }
int nvmlDeviceGetComputeRunningProcesses_v2(Device *d, u32 *n, Process *p) { return processes("nvmlDeviceGetComputeRunningProcesses_v2", d, n, p); }

int nvmlDeviceGetHandleByUUID(const char *uuid, Device **d) {
    ENTER("nvmlDeviceGetHandleByUUID", -1);
    for (int i = 0; i < MOST_GPUS; i++)
        for (int j = -1; j < MOST_SLICES; j++) {
            Device *one = j < 0 ? &devices[i] : &slices[i][j];
            if (of(one, "uuid") && !strcmp(of(one, "uuid"), uuid)) return *d = one, OK;
        }
    return MISSING;
}
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Device *d, Device **parent) {
    ENTER("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", d->gpu);
    *parent = &devices[d->gpu];
    return d->mig < 0 ? INVALID : OK;
}

/* CUDA's own library is a link to this file: what its initialisation answers. */
int cuInit(u32 flags) {
    (void)flags;
    ENTER("cuInit", -1);
    const char *code = get("driver.cuda_init");
    return code ? atoi(code) : 0;
}
