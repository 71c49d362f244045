#include "hold.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "file.h"

enum {
	CPUS_MAX = 64,
	// The kernel's RCU threads, which the agent may wait for, run at 99 too: `rcutree.kthread_prio` of the command line.
	AGENT_PRIORITY = 99,
	SPINNER_PRIORITY = 98,
	TAKE_DEADLINE_NS = 1000 * 1000 * 1000,
	// Work takes about 2 ms, but a busy host may give the machine no CPU for a hundred times as long.
	WORK_MAX_NS = 500 * 1000 * 1000,
	YIELD_NS = 1000 * 1000,
	STACK_BYTES = 64 * 1024,
};

static _Atomic uint32_t is_held;
static _Atomic uint32_t spinning; // number of threads that spin on their CPU
static _Atomic int64_t work_ends_ns; // 0: no work
static uint32_t spinners;

static int64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void futex_wait(_Atomic uint32_t *word, uint32_t value, const struct timespec *most)
{
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, most, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, CPUS_MAX, NULL, NULL, 0);
}

static int set_real_time_priority(int priority)
{
	struct sched_param param = {.sched_priority = priority};
	return sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param) != 0 ? errno : 0;
}

static void spin(void)
{
	while (atomic_load_explicit(&is_held, memory_order_relaxed) != 0) {
		int64_t end_ns = atomic_load_explicit(&work_ends_ns, memory_order_relaxed);
		if (end_ns != 0 && now_ns() > end_ns)
			nanosleep(&(struct timespec){.tv_nsec = YIELD_NS}, NULL);
		else
			__builtin_ia32_pause();
	}
}

static void *spinner(void *cpu)
{
	cpu_set_t mine;
	CPU_ZERO(&mine);
	CPU_SET((size_t)(uintptr_t)cpu, &mine);
	// These calls change this thread only; their process-wide variants would change all threads.
	sched_setaffinity(0, sizeof mine, &mine);
	set_real_time_priority(SPINNER_PRIORITY);
	prctl(PR_SET_NAME, "hold");
	for (;;) {
		while (atomic_load(&is_held) == 0)
			futex_wait(&is_held, 0, NULL);
		atomic_fetch_add(&spinning, 1);
		futex_wake(&spinning);
		spin();
		atomic_fetch_sub(&spinning, 1);
	}
	return NULL;
}

// A thread inherits the signal mask, so the kernel never delivers a signal that the agent reads by signalfd to it.
static int start_spinner(uint32_t cpu)
{
	pthread_attr_t attributes;
	pthread_t thread;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	int error = pthread_create(&thread, &attributes, spinner, (void *)(uintptr_t)cpu);
	pthread_attr_destroy(&attributes);
	return error;
}

int hold_prepare(void)
{
	cpu_set_t cpus;
	// By default the kernel keeps 5 % of the time for processes that are not real-time.
	int error = file_write("/proc/sys/kernel/sched_rt_runtime_us", "-1");
	if (error == 0)
		error = set_real_time_priority(AGENT_PRIORITY);
	if (error == 0 && sched_getaffinity(0, sizeof cpus, &cpus) != 0)
		error = errno;
	for (uint32_t cpu = 0; cpu < CPUS_MAX && error == 0; cpu++) {
		if (!CPU_ISSET(cpu, &cpus))
			continue;
		error = start_spinner(cpu);
		spinners += error == 0;
	}
	return error;
}

int hold_take(void)
{
	atomic_store(&is_held, 1);
	futex_wake(&is_held);
	int64_t deadline_ns = now_ns() + TAKE_DEADLINE_NS;
	// The agent sleeps while it waits, so that the thread of its own CPU can start to spin.
	for (uint32_t count; (count = atomic_load(&spinning)) < spinners;) {
		if (now_ns() > deadline_ns) {
			hold_release();
			return ETIMEDOUT;
		}
		futex_wait(&spinning, count, &(struct timespec){.tv_nsec = TAKE_DEADLINE_NS / 10});
	}
	return 0;
}

void hold_release(void)
{
	atomic_store(&is_held, 0);
}

bool hold_is_taken(void)
{
	return atomic_load(&is_held) != 0;
}

void hold_begin_work(void)
{
	if (hold_is_taken())
		atomic_store(&work_ends_ns, now_ns() + WORK_MAX_NS);
}

void hold_end_work(void)
{
	atomic_store(&work_ends_ns, 0);
}
