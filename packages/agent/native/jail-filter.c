/*
 * The system calls that a jailed program may make. Every other call fails with an error and does not end the program: QEMU and the C
 * library try calls that they can do without (io_uring_setup, clone3), and other versions of them try other calls.
 *
 * The list comes from traces of QEMU 7.2, e2fsck and resize2fs (docs/adr/0014-jail.md). Calls that an architecture does not have are
 * left out for it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail.h"

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "the filter of system calls is not written for this architecture"
#endif

/* A new mount, cgroup, uts, ipc, user, pid or network namespace. (clone() has no bit for a time namespace: its signal has that.) */
#define NEW_NAMESPACES                                                                                                                   \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)
#define LENGTH_OF(list) (sizeof(list) / sizeof *(list))
#define FIELD(name) ((uint32_t)offsetof(struct seccomp_data, name))
#define LOAD(name) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIELD(name))
#define ANSWER(action) BPF_STMT(BPF_RET | BPF_K, (action))
#define REFUSE ANSWER(SECCOMP_RET_ERRNO | EPERM)
#define SKIP(instructions) BPF_STMT(BPF_JMP | BPF_JA, (instructions))
/* The loaded word is the value, or so many instructions are skipped. */
#define UNLESS(value, skipped) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (skipped))
#define ALLOW_VALUE(value) UNLESS((value), 1), ANSWER(SECCOMP_RET_ALLOW)
#define ALLOW(name) ALLOW_VALUE(SYS_##name)
#define ABSENT(name) UNLESS(SYS_##name, 1), ANSWER(SECCOMP_RET_ERRNO | ENOSYS)
/* How many options of prctl() are allowed by their name alone. */
#define PRCTL_ALLOWED 7

static const struct sock_filter rules[] = {
	LOAD(arch),
	UNLESS(OWN_ARCHITECTURE, 1),
	SKIP(1),
	ANSWER(SECCOMP_RET_KILL_PROCESS),
	LOAD(nr),

	/* Threads and forks (native/memory-image.c), and no namespace. */
	UNLESS(SYS_clone, 4),
	LOAD(args[0]),
	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NEW_NAMESPACES, 0, 1),
	REFUSE,
	ANSWER(SECCOMP_RET_ALLOW),

	/* A program that took the signal of its parent's end away would outlive its parent. */
	UNLESS(SYS_prctl, 5 + 2 * PRCTL_ALLOWED + 1),
	LOAD(args[0]),
	UNLESS(PR_SET_PDEATHSIG, 3),
	LOAD(args[1]),
	UNLESS(SIGKILL, 2 * PRCTL_ALLOWED + 1),
	ANSWER(SECCOMP_RET_ALLOW),
	ALLOW_VALUE(PR_SET_NAME),
	ALLOW_VALUE(PR_GET_NAME),
	ALLOW_VALUE(PR_GET_DUMPABLE),
	ALLOW_VALUE(PR_SET_TIMERSLACK),
	ALLOW_VALUE(PR_MCE_KILL),
	ALLOW_VALUE(PR_SET_NO_NEW_PRIVS),
	ALLOW_VALUE(PR_SET_SECCOMP),
	REFUSE,

	/* The C library has an older call in the place of each of these, and uses it when it is told that they do not exist. */
	ABSENT(clone3),
	ABSENT(faccessat2),
	ABSENT(openat2),

	/* Files: the program can only name those that jail.c has bound into the root. */
	ALLOW(read), ALLOW(write), ALLOW(readv), ALLOW(writev), ALLOW(pread64), ALLOW(pwrite64), ALLOW(preadv),
	ALLOW(pwritev), ALLOW(preadv2), ALLOW(pwritev2), ALLOW(lseek), ALLOW(close), ALLOW(close_range), ALLOW(dup),
	ALLOW(dup3), ALLOW(fcntl), ALLOW(ioctl), ALLOW(fsync), ALLOW(fdatasync), ALLOW(sync_file_range), ALLOW(ftruncate),
	ALLOW(fallocate), ALLOW(fadvise64), ALLOW(copy_file_range), ALLOW(flock), ALLOW(fstat), ALLOW(newfstatat),
	ALLOW(statx), ALLOW(fstatfs), ALLOW(statfs), ALLOW(openat), ALLOW(faccessat), ALLOW(readlinkat), ALLOW(getdents64),
	ALLOW(getcwd), ALLOW(chdir), ALLOW(fchdir), ALLOW(unlinkat), ALLOW(renameat2), ALLOW(mkdirat), ALLOW(fchmod),
	ALLOW(umask),

	/* Memory. The translated code of TCG needs memory that is writable and executable. */
	ALLOW(brk), ALLOW(mmap), ALLOW(munmap), ALLOW(mremap), ALLOW(mprotect), ALLOW(madvise), ALLOW(msync),
	ALLOW(membarrier),

	/* Threads, signals and time. Signals reach the program's own processes at most: no other is in its namespace. */
	ALLOW(futex), ALLOW(set_robust_list), ALLOW(get_robust_list), ALLOW(rseq), ALLOW(set_tid_address), ALLOW(gettid),
	ALLOW(getpid), ALLOW(getppid), ALLOW(tgkill), ALLOW(exit), ALLOW(exit_group), ALLOW(execve), ALLOW(wait4),
	ALLOW(waitid), ALLOW(sched_yield), ALLOW(sched_getaffinity), ALLOW(sched_getparam), ALLOW(sched_getscheduler),
	ALLOW(rt_sigaction), ALLOW(rt_sigprocmask), ALLOW(rt_sigreturn), ALLOW(rt_sigsuspend), ALLOW(rt_sigtimedwait),
	ALLOW(rt_sigpending), ALLOW(sigaltstack), ALLOW(restart_syscall), ALLOW(clock_gettime), ALLOW(clock_getres),
	ALLOW(clock_nanosleep), ALLOW(nanosleep), ALLOW(gettimeofday), ALLOW(timer_create), ALLOW(timer_settime),
	ALLOW(timer_gettime), ALLOW(timer_delete), ALLOW(timer_getoverrun), ALLOW(timerfd_create), ALLOW(timerfd_settime),
	ALLOW(timerfd_gettime), ALLOW(setitimer),

	/* Waiting, and the sockets that the program was given: it cannot make one, nor connect it. */
	ALLOW(ppoll), ALLOW(pselect6), ALLOW(epoll_create1), ALLOW(epoll_ctl), ALLOW(epoll_pwait), ALLOW(eventfd2),
	ALLOW(signalfd4), ALLOW(pipe2), ALLOW(listen), ALLOW(accept), ALLOW(accept4), ALLOW(recvfrom), ALLOW(recvmsg),
	ALLOW(recvmmsg), ALLOW(sendto), ALLOW(sendmsg), ALLOW(sendmmsg), ALLOW(shutdown), ALLOW(getsockname),
	ALLOW(getpeername), ALLOW(getsockopt), ALLOW(setsockopt),

	/* What it is and where. */
	ALLOW(getuid), ALLOW(geteuid), ALLOW(getgid), ALLOW(getegid), ALLOW(getresuid), ALLOW(getresgid), ALLOW(prlimit64),
	ALLOW(getrusage), ALLOW(times), ALLOW(uname), ALLOW(sysinfo), ALLOW(getrandom), ALLOW(getcpu), ALLOW(seccomp),

#ifdef __x86_64__
	/* Older names of the same, which newer architectures never had. */
	ALLOW(dup2), ALLOW(stat), ALLOW(lstat), ALLOW(open), ALLOW(access), ALLOW(readlink), ALLOW(unlink), ALLOW(rename),
	ALLOW(renameat), ALLOW(mkdir), ALLOW(arch_prctl), ALLOW(pause), ALLOW(time), ALLOW(alarm), ALLOW(poll),
	ALLOW(select), ALLOW(epoll_wait), ALLOW(getrlimit),
#endif
	REFUSE,
};

/*
 * What a zygote may in addition: copy itself into a new pid namespace, and give its copies everything that the copies then drop. A copy
 * installs the filter above, too, after which this one allows nothing more.
 */
static const struct sock_filter zygote_rules[] = {
	LOAD(arch),
	UNLESS(OWN_ARCHITECTURE, 1),
	SKIP(1),
	ANSWER(SECCOMP_RET_KILL_PROCESS),
	LOAD(nr),
	ALLOW(setns),
	ALLOW(setgroups),
	ALLOW(setresgid),
	ALLOW(setresuid),
	ALLOW(capset),
	ALLOW(prctl),
	UNLESS(SYS_clone, 3),
	LOAD(args[0]),
	ALLOW_VALUE(CLONE_NEWPID | SIGCHLD),
};

static int install(const struct sock_filter *instructions, unsigned short length)
{
	const struct sock_fprog filter = {.len = length, .filter = (struct sock_filter *)instructions};

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter);
}

int install_filter(void)
{
	return install(rules, LENGTH_OF(rules));
}

int install_zygote_filter(void)
{
	struct sock_filter both[LENGTH_OF(zygote_rules) + LENGTH_OF(rules)];

	memcpy(both, zygote_rules, sizeof zygote_rules);
	memcpy(both + LENGTH_OF(zygote_rules), rules, sizeof rules);
	return install(both, LENGTH_OF(both));
}
