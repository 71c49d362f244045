/*
 * Part of the preload object: images of QEMU's memory, each of one instant, so that a guest stands still for the making of one (milliseconds) and not
 * for its copy.
 *
 * An image is a process that shares QEMU's pages copy-on-write, as after fork(), and does nothing: whoever asked for it reads its memory. QEMU cannot
 * make one itself, because its filter of system calls lets it start threads only (-sandbox spawn=deny). A process beside it can: it begins before that
 * filter is there and shares QEMU's memory (CLONE_VM), so that what it forks has all that QEMU has mapped since. It is no more than QEMU may be: same
 * user, no capabilities, no descriptor but its socket, and a filter of its own, under which whoever had taken over QEMU, and with it this process, could
 * make it wait, answer and fork.
 *
 * GUEST_IMAGE_FD is the inherited socket that it listens on, or, where QEMU has no jail, GUEST_IMAGE_SOCKET names one to make in QEMU's working
 * directory. GUEST_IMAGE_OF is the program that it is for, because others run before it with the same environment. In a copy of a zygote
 * (zygote-child.c) it begins when the copy does. A connection is answered with the process id of an image in decimal, as this pid namespace counts,
 * which lives until the connection ends. One at a time.
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "memory-image.h"

#define STACK_BYTES 65536
#define LENGTH_OF(list) (sizeof(list) / sizeof *(list))

static struct {
	int socket;
	pid_t qemu;
} serving;

static _Noreturn void fail(const char *what)
{
	char message[160];
	int length = snprintf(message, sizeof message, "memory image: %s\n", what);

	if (length > 0)
		(void)!write(STDERR_FILENO, message, (size_t)length);
	abort();
}

/* QEMU's mapping of its memory is its own matter; a child that has not got it would be no image, and no copy (zygote.c). */
int madvise(void *at, size_t length, int advice)
{
	if (advice == MADV_DONTFORK && (getenv("GUEST_IMAGE_OF") != NULL || getenv("ZYGOTE_FD") != NULL))
		return 0;
	return (int)syscall(SYS_madvise, at, length, advice);
}

#ifdef __x86_64__

/* Without errno, which is the main thread's. Negative: the error. */
static long call(long number, long first, long second, long third, long fourth, long fifth)
{
	register long r10 __asm__("r10") = fourth;
	register long r8 __asm__("r8") = fifth;
	long answer;

	__asm__ volatile("syscall"
			 : "=a"(answer)
			 : "a"(number), "D"(first), "S"(second), "d"(third), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return answer;
}

static _Noreturn void leave(void)
{
	for (;;)
		call(SYS_exit_group, 0, 0, 0, 0, 0);
}

#define FIELD(name) ((uint32_t)offsetof(struct seccomp_data, name))
#define LOAD(name) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIELD(name))
#define UNLESS(value, skipped) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (skipped))
#define ANSWER(action) BPF_STMT(BPF_RET | BPF_K, (action))
#define ALLOW(number) UNLESS((number), 1), ANSWER(SECCOMP_RET_ALLOW)

static void confine(void)
{
	static const struct sock_filter rules[] = {
		LOAD(arch),
		UNLESS(AUDIT_ARCH_X86_64, 1),
		BPF_STMT(BPF_JMP | BPF_JA, 1),
		ANSWER(SECCOMP_RET_KILL_PROCESS),
		LOAD(nr),
		ALLOW(SYS_accept4),
		ALLOW(SYS_read),
		ALLOW(SYS_write),
		ALLOW(SYS_close),
		ALLOW(SYS_wait4),
		ALLOW(SYS_restart_syscall),
		ALLOW(SYS_exit_group),
		/* fork() and nothing else: no thread, no namespace. */
		UNLESS(SYS_clone, 3),
		LOAD(args[0]),
		UNLESS(SIGCHLD, 1),
		ANSWER(SECCOMP_RET_ALLOW),
		ANSWER(SECCOMP_RET_KILL_PROCESS),
	};
	const struct sock_fprog filter = {.len = LENGTH_OF(rules), .filter = (struct sock_filter *)rules};

	if (call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    call(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (long)&filter, 0, 0) != 0)
		leave();
}

/* Until the connection ends, however it does. */
static _Noreturn void be_image(long connection)
{
	char byte;

	while (call(SYS_read, connection, (long)&byte, 1, 0, 0) > 0)
		;
	leave();
}

static void answer_one(long connection)
{
	char text[24];
	int length = 0;
	long image = call(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (image == 0) {
		call(SYS_close, STDIN_FILENO, 0, 0, 0, 0);
		be_image(connection);
	}
	if (image > 0) {
		text[sizeof text - 1] = '\n';
		for (long rest = image; rest > 0; rest /= 10)
			text[sizeof text - 2 - length++] = (char)('0' + rest % 10);
		call(SYS_write, connection, (long)(text + sizeof text - 1 - length), length + 1, 0, 0);
	}
	call(SYS_close, connection, 0, 0, 0, 0);
	if (image > 0)
		call(SYS_wait4, image, 0, 0, 0, 0);
}

/* QEMU's threads have nothing of this but the memory: other descriptors, another working directory, other handlers of signals. */
static int serve(void *unused)
{
	(void)unused;
	/* In this order: a QEMU that ended before the first is seen by the second. */
	if (call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || call(SYS_getppid, 0, 0, 0, 0, 0) != serving.qemu)
		leave();
	call(SYS_prctl, PR_SET_NAME, (long)"guest-image", 0, 0, 0);
	if (call(SYS_chdir, (long)"/", 0, 0, 0, 0) != 0 || call(SYS_dup2, serving.socket, STDIN_FILENO, 0, 0, 0) < 0 ||
	    call(SYS_close_range, STDOUT_FILENO, ~0U, 0, 0, 0) != 0)
		leave();
	confine();
	for (;;) {
		long connection = call(SYS_accept4, STDIN_FILENO, 0, 0, 0, 0);

		if (connection >= 0)
			answer_one(connection);
		else if (connection != -EINTR && connection != -ECONNABORTED)
			leave();
	}
}

static int make_listener(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(name) >= sizeof address.sun_path)
		fail("the name of the socket is too long");
	strcpy(address.sun_path, name);
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 1) != 0)
		fail("the socket cannot be made");
	return listener;
}

int serve_images(int listener)
{
	char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

	serving.qemu = getpid();
	serving.socket = listener;
	/* No signal tells of its end: QEMU does not know of it. */
	return stack == MAP_FAILED || clone(serve, stack + STACK_BYTES, CLONE_VM, NULL) < 0 ? -1 : 0;
}

__attribute__((constructor)) static void begin(void)
{
	const char *fd = getenv("GUEST_IMAGE_FD"), *name = getenv("GUEST_IMAGE_SOCKET"), *of = getenv("GUEST_IMAGE_OF");
	int listener;

	if ((fd == NULL && name == NULL) || of == NULL || strcmp(of, program_invocation_short_name) != 0)
		return;
	listener = fd != NULL ? atoi(fd) : make_listener(name);
	if (serve_images(listener) != 0)
		fail("the process beside QEMU cannot be started");
	close(listener);
}

#endif
