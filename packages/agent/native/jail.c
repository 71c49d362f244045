/*
 * jail OPTION... -- PROGRAM ARGUMENT...: runs a program that parses guest-written data (QEMU, e2fsck) in its own namespaces.
 *
 * The program has its own mount, network, pid, ipc and uts namespaces, a root that contains only what is bound into it, a user
 * without capabilities, and the system calls of jail-filter.c. It is the init process of its pid namespace: when it ends, the kernel
 * ends all its children. The launcher waits for it outside of the namespaces, in the working directory in which the agent started
 * the launcher; there the agent finds it. The launcher ends with the program's exit code or signal. If the launcher is killed, the
 * kernel kills the program.
 *
 *     --root DIR          becomes the read-only root; must have the folders dev and vm, and the targets of --bind
 *     --uid N             user and group
 *     --vm                binds the working directory, writable, to /vm; without it /vm stays empty
 *     --bind FROM TO      binds a file or folder to TO below the root, read-only; --bind-writable: writable
 *     --kvm               makes a /dev/kvm that the user can open, whatever the owner and mode of the host's; in a user namespace
 *                         it is the host's, with its mode
 *     --tap NAME FD       opens an existing TAP as the descriptor
 *     --listen PATH FD    opens a listening Unix socket as the descriptor; replaces PATH
 *     --join FILE         joins a control group of version 1: FILE is its `tasks`
 *     --cgroup DIR        starts the program in a control group of version 2
 *     --memory BYTES      address space; --cpu SECONDS: CPU time
 *     --files COUNT       passes this many descriptors after the first three to the program, and closes all others
 *     --report FD         receives the program's process id, in decimal, as the agent sees it
 *     --lease FILE        the program runs only while its host has a lease (jail-lease.c)
 *     --batch MS          the program's threads interrupt no other when they wake, and have turns of this length (Linux 6.12)
 *     --with-parent       the program ends when the process that started the launcher ends
 *     --makes-children    the program is a QEMU that copies itself (zygote.c): it keeps the rights for that, and the launcher's pid
 *                         namespace
 *     --zygote PATH PID   the program is a child of this zygote, which listens on the Unix socket. There is no command line.
 *                         --over FROM TO, --renew FD, --share FD: what becomes of the zygote's descriptors (jail-zygote.c)
 *                         --images FD: serves images of its memory on the descriptor (memory-image.c)
 *                         --continue FD COUNT: continues another VM, whose memory has this many layers (zygote-state.c)
 *
 * The agent cannot do this in JavaScript, which has neither ioctl nor clone.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/if_tun.h>
#include <linux/sched.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jail.h"

#define MAX_DESCRIPTORS 4096
#define NAMESPACES (CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS)

/* Moves a descriptor to the number under which the program expects it. */
static void move_descriptor(int fd, int wanted)
{
	if (fd == wanted)
		return;
	if (dup2(fd, wanted) < 0)
		fail("descriptor %d", wanted);
	close(fd);
}

/* QEMU expects these flags: virtio-net's header and no packet information. */
static void open_tap(const char *name, int wanted)
{
	struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR};
	int tap = open("/dev/net/tun", O_RDWR);

	if (tap < 0)
		fail("/dev/net/tun");
	/* TUNSETIFF would create a missing TAP. This check also refuses a name that is too long. */
	if (if_nametoindex(name) == 0)
		fail("TAP %s", name);
	strcpy(request.ifr_name, name);
	if (ioctl(tap, TUNSETIFF, &request) != 0)
		fail("TAP %s", name);
	move_descriptor(tap, wanted);
}

static void open_listener(const char *path, int wanted)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);

	if (strlen(path) >= sizeof address.sun_path) {
		errno = ENAMETOOLONG;
		fail("socket %s", path);
	}
	strcpy(address.sun_path, path);
	if (unlink(path) != 0 && errno != ENOENT)
		fail("old socket %s", path);
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 16) != 0)
		fail("socket %s", path);
	move_descriptor(listener, wanted);
}

/*
 * The process joins by itself, through `tasks`. If the agent moved it, the kernel would take cgroup_threadgroup_rwsem, which stops
 * all thread starts on the host for 10 ms.
 */
static void join_groups(void)
{
	for (int i = 0; i < options.group_count; i++) {
		int file = open(options.groups[i], O_WRONLY | O_CLOEXEC);

		if (file < 0 || write(file, "0", 1) != 1)
			fail("%s", options.groups[i]);
		close(file);
	}
}

/* A path below the program's root, before pivot_root. Only root can write to the folders on the way, so none is a symbolic link. */
static const char *below_root(const char *path)
{
	static char full[4096];

	if (snprintf(full, sizeof full, "%s/%s", options.root, path) >= (int)sizeof full) {
		errno = ENAMETOOLONG;
		fail("%s", path);
	}
	return full;
}

/* The kernel ignores the flags of a new bind mount, so they need a remount. */
static void bind_over(const char *from, const char *to, unsigned long flags)
{
	if (mount(from, to, NULL, MS_BIND, NULL) != 0 ||
	    mount(NULL, to, NULL, MS_BIND | MS_REMOUNT | MS_NOSUID | MS_NODEV | flags, NULL) != 0)
		fail("bind of %s", from);
}

/* In a user namespace the kernel makes no device. The host's own stands in for it, with its owner and mode. */
static void bind_node(const char *path, const char *device)
{
	int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (file < 0 || mount(device, path, NULL, MS_BIND, NULL) != 0 ||
	    mount(NULL, path, NULL, MS_BIND | MS_REMOUNT | MS_NOSUID | MS_NOEXEC, NULL) != 0)
		fail("%s", device);
	close(file);
}

static void make_node(const char *name, mode_t mode, dev_t device, uid_t owner)
{
	const char *path = below_root(name);
	char host[64];

	if (mknod(path, S_IFCHR | mode, device) == 0) {
		if (chown(path, owner, owner) != 0)
			fail("%s", path);
		return;
	}
	if (errno != EPERM)
		fail("%s", path);
	snprintf(host, sizeof host, "/%s", name);
	bind_node(path, host);
}

static void make_devices(void)
{
	struct stat kvm;

	if (options.has_kvm && stat("/dev/kvm", &kvm) != 0)
		fail("/dev/kvm");
	if (mount("dev", below_root("dev"), "tmpfs", MS_NOSUID | MS_NOEXEC, "size=64k,nr_inodes=16,mode=755") != 0)
		fail("/dev of the jail");
	umask(0);
	make_node("dev/null", 0666, makedev(1, 3), 0);
	make_node("dev/urandom", 0444, makedev(1, 9), 0);
	if (options.has_kvm)
		make_node("dev/kvm", 0600, kvm.st_rdev, (uid_t)options.uid);
	umask(077);
}

void enter_root(void)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		fail("mounts of the host");
	bind_over(options.root, options.root, MS_RDONLY);
	if (options.has_vm)
		bind_over(".", below_root("vm"), MS_NOEXEC);
	for (int i = 0; i < options.bind_count; i++) {
		const struct bind *bind = &options.binds[i];

		bind_over(bind->from, below_root(bind->to), MS_NOEXEC | (bind->is_writable ? 0 : MS_RDONLY));
	}
	make_devices();
	/* pivot_root(2): with the same folder twice, the old root covers the new one until it is unmounted. */
	if (chdir(options.root) != 0 || syscall(SYS_pivot_root, ".", ".") != 0 || umount2(".", MNT_DETACH) != 0 || chdir("/vm") != 0)
		fail("root %s", options.root);
}

static void limit(int resource, rlim_t most)
{
	const struct rlimit both = {most, most};

	if (setrlimit(resource, &both) != 0)
		fail("limit %d", resource);
}

static _Noreturn void be_program(int parent_lives)
{
	struct pollfd parent = {.fd = parent_lives, .events = POLLIN};
	const char *step;

	join_groups();
	enter_root();
	if (sethostname("jail", 4) != 0)
		fail("name of the host");
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_NOFILE, MAX_DESCRIPTORS);
	limit(RLIMIT_MEMLOCK, 0);
	limit(RLIMIT_MSGQUEUE, 0);
	limit(RLIMIT_AS, options.memory_bytes);
	limit(RLIMIT_CPU, options.cpu_seconds);
	step = options.makes_children ? keep_rights(options.uid) : drop_rights(options.uid);
	if (step != NULL)
		fail("%s", step);
	/* After the last change of the user, which would clear it. The pipe shows a parent that has already ended. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
		fail("signal of the parent's end");
	if (poll(&parent, 1, 0) != 0)
		_exit(CANNOT_RUN);
	close(parent_lives);
	if ((options.makes_children ? install_zygote_filter() : install_filter()) != 0)
		fail("filter of system calls");
	execve(options.program[0], options.program, environ);
	fail("%s", options.program[0]);
}

/* Makes the namespaces that a zygote's child enters. They exist as long as this process, or the child. */
static _Noreturn void be_holder(int parent_lives, int ready)
{
	char byte = 0;

	enter_root();
	if (sethostname("jail", 4) != 0)
		fail("name of the host");
	if (write(ready, &byte, 1) != 1)
		fail("namespaces");
	(void)!read(parent_lives, &byte, 1);
	_exit(0);
}

static void open_all(void)
{
	int last = STDERR_FILENO + options.files;

	if (options.report >= 0) {
		/* The program does not inherit it. */
		if (options.report <= last || fcntl(options.report, F_SETFD, FD_CLOEXEC) != 0)
			fail("report");
		if (options.report > last + 1)
			syscall(SYS_close_range, last + 1, options.report - 1, 0);
		last = options.report;
	}
	/* The agent's own parent may have left descriptors open, which the launcher inherits. */
	syscall(SYS_close_range, last + 1, ~0U, 0);
	if (options.tap.name != NULL)
		open_tap(options.tap.name, options.tap.fd);
	for (int i = 0; i < options.listener_count; i++)
		open_listener(options.listeners[i].name, options.listeners[i].fd);
}

/* What this process starts inherits it. A host that has no such policy runs the program as any other. */
static void take_long_turns(long ms)
{
	/* sched_setattr(2). Not every C library declares it, and the kernel's own header does not go with <sched.h>. */
	const struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime_ns, deadline_ns, period_ns;
	} attributes = {
		.size = sizeof attributes,
		.policy = SCHED_BATCH,
		.nice = getpriority(PRIO_PROCESS, 0),
		.runtime_ns = (uint64_t)ms * 1000 * 1000,
	};

	(void)syscall(SYS_sched_setattr, 0, &attributes, 0);
}

static pid_t start_program(int cgroup)
{
	/* A zygote's children outlive it, so it must not be the first process of their namespace. They get their own from it. */
	const int is_family = options.makes_children || options.zygote != NULL;
	struct clone_args arguments = {.flags = is_family ? NAMESPACES & ~CLONE_NEWPID : NAMESPACES, .exit_signal = SIGCHLD};

	if (cgroup >= 0) {
		arguments.flags |= CLONE_INTO_CGROUP;
		arguments.cgroup = (uint64_t)cgroup;
	}
	return (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
}

void report(pid_t program)
{
	char text[24];
	int length = snprintf(text, sizeof text, "%d\n", program);

	if (options.report >= 0 && write(options.report, text, (size_t)length) != length)
		fail("report");
}

/* Ends the launcher with the program's exit code or signal. */
_Noreturn void end_as(int status)
{
	if (WIFSIGNALED(status)) {
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
	}
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static void keep_program_to_lease(pid_t program)
{
	int held = (int)syscall(SYS_pidfd_open, program, 0);

	if (held < 0)
		fail("watch of the lease");
	keep_to_lease(held);
}

int main(int count, char **arguments)
{
	int lives[2], ready[2], status, cgroup = -1;
	pid_t program, agent = getppid();

	read_options(count, arguments);
	open_all();
	if (options.is_with_parent && (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || getppid() != agent))
		fail("the process that starts this one");
	if (options.cgroup != NULL) {
		cgroup = open(options.cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (cgroup < 0)
			fail("%s", options.cgroup);
	}
	if (pipe2(lives, O_CLOEXEC) != 0 || pipe2(ready, O_CLOEXEC) != 0)
		fail("pipe");
	limit(RLIMIT_CORE, 0);
	require_lease();
	if (options.batch_ms > 0)
		take_long_turns(options.batch_ms);
	program = start_program(cgroup);
	if (program < 0)
		fail("namespaces");
	if (program == 0) {
		close(lives[1]);
		if (options.zygote != NULL)
			be_holder(lives[0], ready[1]);
		be_program(lives[0]);
	}
	if (options.zygote != NULL) {
		close(ready[1]);
		be_launcher_of_child(program, ready[0]);
	}
	report(program);
	/* Keeps only the pipe. So the agent sees a socket close when the program closes it, not when the launcher ends. */
	if (lives[1] > 0)
		syscall(SYS_close_range, 0, lives[1] - 1, 0);
	syscall(SYS_close_range, lives[1] + 1, ~0U, 0);
	if (options.lease != NULL)
		keep_program_to_lease(program);
	while (waitpid(program, &status, 0) < 0)
		if (errno != EINTR)
			_exit(CANNOT_RUN);
	end_as(status);
}
