/*
 * jail OPTION... -- PROGRAM ARGUMENT...: runs a program that reads what a guest wrote (QEMU, e2fsck) in namespaces of its own.
 *
 * The program gets its own mount, network, pid, ipc and uts namespaces, a root that holds only what is bound into it, a user without
 * capabilities, and the system calls of jail-filter.c. It is the init process of its pid namespace: when it ends, the kernel ends
 * everything it has started. This process waits for it as its parent, outside of the namespaces, in the working directory it was started
 * in, which is how the agent finds it. It ends as the program ends. When this process is killed, the program is killed too.
 *
 *     --root DIR          becomes the read-only root; must have the folders dev and vm, and what --bind names
 *     --uid N             user and group
 *     --vm                binds the working directory, writable, over /vm; without it /vm stays empty
 *     --bind FROM TO      binds a file or folder over TO below the root, read-only; --bind-writable: writable
 *     --kvm               puts a /dev/kvm for the user into the root, whatever the owner and mode of the host's
 *     --tap NAME FD       opens an existing TAP as the descriptor
 *     --listen PATH FD    makes a Unix socket that listens, as the descriptor; PATH is made anew
 *     --join FILE         joins a control group of version 1: FILE is its `tasks`
 *     --cgroup DIR        starts the program in a control group of version 2
 *     --memory BYTES      address space; --cpu SECONDS: CPU time
 *     --files COUNT       so many descriptors after the first three are the program's; whatever else is open is closed
 *     --report FD         gets the program's process id, in decimal, as the agent sees it
 *     --with-parent       the program ends when the process that started this one ends
 *
 * JavaScript can do none of this: it has neither ioctl nor clone.
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
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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

#include "jail-filter.h"

#define MAX_BINDS 8
#define MAX_GROUPS 8
#define MAX_LISTENERS 8
#define MAX_DESCRIPTORS 4096
/* What a shell says of a program that it could not start. */
#define CANNOT_RUN 127
#define NAMESPACES (CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS)

struct bind {
	const char *from, *to;
	int is_writable;
};

/* A descriptor that this program opens, and the number that it is to have. */
struct opened {
	const char *name;
	int fd;
};

static struct {
	const char *root;
	long uid;
	int has_vm, has_kvm, is_with_parent, report, files;
	struct opened tap, listeners[MAX_LISTENERS];
	int listener_count;
	struct bind binds[MAX_BINDS];
	int bind_count;
	const char *groups[MAX_GROUPS];
	int group_count;
	const char *cgroup;
	rlim_t memory_bytes, cpu_seconds;
	char **program;
} options = {.uid = -1, .report = -1, .memory_bytes = RLIM_INFINITY, .cpu_seconds = RLIM_INFINITY};

static _Noreturn void fail(const char *format, ...)
{
	int error = errno;
	va_list arguments;

	fputs("jail: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, ": %s\n", strerror(error));
	_exit(CANNOT_RUN);
}

static long number(const char *text)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (*text != '\0' && *end == '\0' && value >= 0)
		return value;
	errno = EINVAL;
	fail("%s is no number", text);
}

/* Gives a descriptor the number under which the program expects it. */
static void place(int fd, int wanted)
{
	if (fd == wanted)
		return;
	if (dup2(fd, wanted) < 0)
		fail("descriptor %d", wanted);
	close(fd);
}

/* The flags are what QEMU wants: no header of the driver's, but that of virtio-net. */
static void open_tap(const char *name, int wanted)
{
	struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR};
	int tap = open("/dev/net/tun", O_RDWR);

	if (tap < 0)
		fail("/dev/net/tun");
	/* One that is not there would be made. A name that is too long names none. */
	if (if_nametoindex(name) == 0)
		fail("TAP %s", name);
	strcpy(request.ifr_name, name);
	if (ioctl(tap, TUNSETIFF, &request) != 0)
		fail("TAP %s", name);
	place(tap, wanted);
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
	place(listener, wanted);
}

static void add_bind(const char *from, const char *to, int is_writable)
{
	if (options.bind_count == MAX_BINDS) {
		errno = E2BIG;
		fail("--bind %s", from);
	}
	options.binds[options.bind_count++] = (struct bind){from, to, is_writable};
}

static void add_listener(const char *path, int fd)
{
	if (options.listener_count == MAX_LISTENERS) {
		errno = E2BIG;
		fail("--listen %s", path);
	}
	options.listeners[options.listener_count++] = (struct opened){path, fd};
}

static void add_group(const char *file)
{
	if (options.group_count == MAX_GROUPS) {
		errno = E2BIG;
		fail("--join %s", file);
	}
	options.groups[options.group_count++] = file;
}

/* Returns how many arguments the option takes, itself included. */
static int read_option(int left, char **at)
{
	const char *name = at[0];
	const char *first = left > 1 ? at[1] : NULL, *second = left > 2 ? at[2] : NULL;

	if (strcmp(name, "--vm") == 0)
		return options.has_vm = 1, 1;
	if (strcmp(name, "--kvm") == 0)
		return options.has_kvm = 1, 1;
	if (strcmp(name, "--with-parent") == 0)
		return options.is_with_parent = 1, 1;
	if (first != NULL && strcmp(name, "--root") == 0)
		return options.root = first, 2;
	if (first != NULL && strcmp(name, "--uid") == 0)
		return options.uid = number(first), 2;
	if (first != NULL && strcmp(name, "--join") == 0)
		return add_group(first), 2;
	if (first != NULL && strcmp(name, "--cgroup") == 0)
		return options.cgroup = first, 2;
	if (first != NULL && strcmp(name, "--memory") == 0)
		return options.memory_bytes = (rlim_t)number(first), 2;
	if (first != NULL && strcmp(name, "--cpu") == 0)
		return options.cpu_seconds = (rlim_t)number(first), 2;
	if (first != NULL && strcmp(name, "--files") == 0)
		return options.files = (int)number(first), 2;
	if (first != NULL && strcmp(name, "--report") == 0)
		return options.report = (int)number(first), 2;
	if (second != NULL && strcmp(name, "--bind") == 0)
		return add_bind(first, second, 0), 3;
	if (second != NULL && strcmp(name, "--bind-writable") == 0)
		return add_bind(first, second, 1), 3;
	if (second != NULL && strcmp(name, "--tap") == 0)
		return options.tap = (struct opened){first, (int)number(second)}, 3;
	if (second != NULL && strcmp(name, "--listen") == 0)
		return add_listener(first, (int)number(second)), 3;
	errno = EINVAL;
	fail("option %s", name);
}

static void read_options(int count, char **arguments)
{
	int at = 1;

	while (at < count && strcmp(arguments[at], "--") != 0)
		at += read_option(count - at, arguments + at);
	options.program = arguments + at + 1;
	errno = EINVAL;
	if (at + 1 >= count || options.root == NULL)
		fail("a root and a program are needed");
	/* User 0 would keep its rights over the files of the host that are bound here. */
	if (options.uid <= 0)
		fail("a user other than root is needed");
}

/*
 * A process that moves itself by `tasks` takes no lock that keeps others from starting threads, unlike one that is moved by its agent
 * (cgroup_threadgroup_rwsem: 10 ms for the whole host).
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

/* A path of the program's root, as it is named before that is the root. Its folders are root's, so that no link is met on the way. */
static const char *below_root(const char *path)
{
	static char full[4096];

	if (snprintf(full, sizeof full, "%s/%s", options.root, path) >= (int)sizeof full) {
		errno = ENAMETOOLONG;
		fail("%s", path);
	}
	return full;
}

/* A bind mount takes its flags only when it is mounted again. */
static void bind_over(const char *from, const char *to, unsigned long flags)
{
	if (mount(from, to, NULL, MS_BIND, NULL) != 0 ||
	    mount(NULL, to, NULL, MS_BIND | MS_REMOUNT | MS_NOSUID | MS_NODEV | flags, NULL) != 0)
		fail("bind of %s", from);
}

static void make_node(const char *path, mode_t mode, dev_t device, uid_t owner)
{
	if (mknod(path, S_IFCHR | mode, device) != 0 || chown(path, owner, owner) != 0)
		fail("%s", path);
}

static void make_devices(void)
{
	struct stat kvm;

	if (options.has_kvm && stat("/dev/kvm", &kvm) != 0)
		fail("/dev/kvm");
	if (mount("dev", below_root("dev"), "tmpfs", MS_NOSUID | MS_NOEXEC, "size=64k,nr_inodes=16,mode=755") != 0)
		fail("/dev of the jail");
	umask(0);
	make_node(below_root("dev/null"), 0666, makedev(1, 3), 0);
	make_node(below_root("dev/urandom"), 0444, makedev(1, 9), 0);
	if (options.has_kvm)
		make_node(below_root("dev/kvm"), 0600, kvm.st_rdev, (uid_t)options.uid);
	umask(077);
}

static void enter_root(void)
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
	/* pivot_root(2): with both the same, the old root lies over the new one until it is unmounted. */
	if (chdir(options.root) != 0 || syscall(SYS_pivot_root, ".", ".") != 0 || umount2(".", MNT_DETACH) != 0 || chdir("/vm") != 0)
		fail("root %s", options.root);
}

static void limit(int resource, rlim_t most)
{
	const struct rlimit both = {most, most};

	if (setrlimit(resource, &both) != 0)
		fail("limit %d", resource);
}

static void drop_rights(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
	gid_t own = (gid_t)options.uid;

	for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
		if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0)
			fail("capability %d", capability);
	/* Raw: the static library would look for threads to tell. */
	if (syscall(SYS_setgroups, 0, NULL) != 0 || syscall(SYS_setresgid, own, own, own) != 0 ||
	    syscall(SYS_setresuid, options.uid, options.uid, options.uid) != 0)
		fail("user %ld", options.uid);
	if (syscall(SYS_capset, &header, none) != 0)
		fail("capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		fail("no new privileges");
}

static _Noreturn void be_program(int parent_lives)
{
	struct pollfd parent = {.fd = parent_lives, .events = POLLIN};

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
	drop_rights();
	/* After the last change of the user, which would undo it; a parent that had ended before is seen by the end of its pipe. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
		fail("signal of the parent's end");
	if (poll(&parent, 1, 0) != 0)
		_exit(CANNOT_RUN);
	close(parent_lives);
	if (install_filter() != 0)
		fail("filter of system calls");
	execve(options.program[0], options.program, environ);
	fail("%s", options.program[0]);
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
	/* The agent's own parent may have left descriptors open, which the agent passes on to us. */
	syscall(SYS_close_range, last + 1, ~0U, 0);
	if (options.tap.name != NULL)
		open_tap(options.tap.name, options.tap.fd);
	for (int i = 0; i < options.listener_count; i++)
		open_listener(options.listeners[i].name, options.listeners[i].fd);
}

static pid_t start_program(int cgroup)
{
	struct clone_args arguments = {.flags = NAMESPACES, .exit_signal = SIGCHLD};

	if (cgroup >= 0) {
		arguments.flags |= CLONE_INTO_CGROUP;
		arguments.cgroup = (uint64_t)cgroup;
	}
	return (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
}

static void report(pid_t program)
{
	char text[24];
	int length = snprintf(text, sizeof text, "%d\n", program);

	if (options.report >= 0 && write(options.report, text, (size_t)length) != length)
		fail("report");
}

/* Ends this process as the program has ended, so that its parent sees the same exit code or signal. */
static _Noreturn void end_as(int status)
{
	if (WIFSIGNALED(status)) {
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
	}
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

int main(int count, char **arguments)
{
	int lives[2], status, cgroup = -1;
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
	if (pipe2(lives, O_CLOEXEC) != 0)
		fail("pipe");
	limit(RLIMIT_CORE, 0);
	program = start_program(cgroup);
	if (program < 0)
		fail("namespaces");
	if (program == 0) {
		close(lives[1]);
		be_program(lives[0]);
	}
	report(program);
	/* Closes everything but our pipe: the agent sees a socket end when the program closes it, not when this process ends. */
	if (lives[1] > 0)
		syscall(SYS_close_range, 0, lives[1] - 1, 0);
	syscall(SYS_close_range, lives[1] + 1, ~0U, 0);
	while (waitpid(program, &status, 0) < 0)
		if (errno != EINTR)
			_exit(CANNOT_RUN);
	end_as(status);
}
