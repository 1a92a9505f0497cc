/* An AICPU image for tests of the device process: its packets are orders of its own. */
#include <stdint.h>
#include <string.h>

typedef int32_t (*Child)(const void *const *tensors, uint32_t tensor_count, const uint64_t *scalars, uint32_t scalar_count,
                         uint32_t block, uint32_t blocks);

struct Job {
    Child entry;
    uint32_t blocks, tensor_count, scalar_count, reserved;
    const void *tensors[32];
    uint64_t scalars[16];
};

struct AreaInfo {
    uint64_t base, context_generation;
    uint32_t index, reserved;
};

struct Platform {
    uint32_t size, aicore_count;
    void *device;
    int32_t (*find_area)(void *, uint64_t, struct AreaInfo *);
    int32_t (*is_callable_memory)(void *, uint64_t, uint64_t);
    void (*notify_aicore)(void *, uint64_t);
    int32_t (*aicore_start)(void *, uint64_t, const struct Job *);
    int32_t (*aicore_wait)(void *, uint64_t);
    void (*execution_ended)(void *, uint64_t);
    void (*log)(void *, int32_t, const uint8_t *, uintptr_t);
};

enum { LOG = 1, FAIL, EXECUTE, LEAVE, PAIR, COUNT, TAIL, CRASH, FIND, WORK_WITHOUT_CHILDREN, HOLD };

/* What every packet begins with; the meaning of a to d depends on the order. */
struct Order {
    uint64_t what, a, b, c, d;
};

static struct Platform platform;
static int32_t calls;

/* A log in device memory: how many entries, then the entries. */
static void append(uint64_t log, uint64_t entry) {
    uint64_t *words = (uint64_t *)(uintptr_t)log;
    uint64_t place = __atomic_fetch_add(&words[0], 1, __ATOMIC_ACQ_REL);
    __atomic_store_n(&words[1 + place], entry, __ATOMIC_RELEASE);
}

static void post(uint64_t area, uint64_t offset) {
    __atomic_fetch_add((uint32_t *)(uintptr_t)(area + offset), 1, __ATOMIC_ACQ_REL);
    platform.notify_aicore(platform.device, area);
}

/* Scalars: the child's number, and the block that fails plus one. */
static int32_t child(const void *const *tensors, uint32_t tensor_count, const uint64_t *scalars, uint32_t scalar_count,
                     uint32_t block, uint32_t blocks) {
    (void)blocks;
    if (tensor_count != 1 || scalar_count != 2) return 77;
    append((uint64_t)(uintptr_t)tensors[0], scalars[0] << 32 | block);
    return scalars[1] == (uint64_t)block + 1 ? 60 + (int32_t)scalars[0] : 0;
}

/* Runs `children` children of `blocks` blocks each; child number `failing` fails in its first block. */
static int execute(uint64_t area, uint64_t log, uint32_t children, uint32_t blocks, uint32_t failing) {
    post(area, 2176);
    for (uint32_t number = 0; number < children; number++) {
        struct Job job;
        memset(&job, 0, sizeof job);
        job.entry = child;
        job.blocks = blocks;
        job.tensor_count = 1;
        job.scalar_count = 2;
        job.tensors[0] = (const void *)(uintptr_t)log;
        job.scalars[0] = number;
        job.scalars[1] = number == failing;
        int32_t answer = platform.aicore_start(platform.device, area, &job);
        if (answer != 0) {
            platform.execution_ended(platform.device, area);
            return answer;
        }
    }
    int32_t result = platform.aicore_wait(platform.device, area);
    platform.execution_ended(platform.device, area);
    return result;
}

static int obey(const struct Order *order, const uint64_t *rest) {
    switch (order->what) {
    case LOG:
        append(order->a, order->b);
        return 0;
    case FAIL:
        return (int)order->a;
    case EXECUTE:
        return execute(order->a, order->b, (uint32_t)order->c, (uint32_t)(order->c >> 32), (uint32_t)order->d);
    case WORK_WITHOUT_CHILDREN:
        post(order->a, 2176);
        platform.execution_ended(platform.device, order->a);
        return 0;
    case HOLD: /* Says that it executes, and goes on doing so until it is told to stop. */
        post(order->a, 2176);
        __atomic_store_n((uint64_t *)(uintptr_t)order->b, 1, __ATOMIC_RELEASE);
        while (__atomic_load_n((uint64_t *)(uintptr_t)order->b, __ATOMIC_ACQUIRE) == 1) {}
        platform.execution_ended(platform.device, order->a);
        return 0;
    case LEAVE:
        post(order->a, 2180);
        return 3;
    case PAIR: /* Meets the other one of the pair: both have to run at once. */
        __atomic_fetch_add((uint64_t *)(uintptr_t)order->a, 1, __ATOMIC_ACQ_REL);
        while (__atomic_load_n((uint64_t *)(uintptr_t)order->a, __ATOMIC_ACQUIRE) < order->b) {}
        return 0;
    case COUNT:
        return ++calls;
    case TAIL: /* What lies behind the packet is zero, and the packet is aligned. */
        for (int word = 0; word < 8; word++)
            if (rest[word] != 0) return 1;
        return (uintptr_t)order % 64 == 0 ? 0 : 2;
    case CRASH:
        *(volatile int *)8 = 1;
        return 0;
    case FIND: {
        struct AreaInfo info;
        if (!platform.find_area(platform.device, order->a, &info)) return 1;
        if (info.base != order->b || info.context_generation != order->c || info.index != order->d) return 2;
        if (platform.find_area(platform.device, order->b + 2240, &info)) return 3;
        if (!platform.is_callable_memory(platform.device, rest[0], rest[1])) return 4;
        if (platform.is_callable_memory(platform.device, rest[0] - 1, 1)) return 5;
        return platform.is_callable_memory(platform.device, rest[0], rest[1] + 1) ? 6 : 0;
    }
    default:
        return 99;
    }
}

int simpler_aicpu_kernel_exec(void *args) { return obey(args, (const uint64_t *)((struct Order *)args + 1)); }

int simpler_aicpu_exec(void *args) { return 1000 + simpler_aicpu_kernel_exec(args); }

int tenon_aicpu_load(const struct Platform *table) {
    if (table->size != sizeof platform) return -1;
    platform = *table;
    return 0;
}

int tenon_aicpu_unload(void) { return 0; }
