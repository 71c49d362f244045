/*
 * The launcher of a zygote's child (zygote.c). It makes the same jail as for any other QEMU (jail.c), and the zygote makes the process.
 *
 *     launcher            zygote                     child
 *       namespaces, descriptors ─► parks its threads
 *       counts them again ◄─ PARKED
 *       GO ───────────────► copies itself ──────────► waits
 *       holds it ◄────────── FORKED
 *       GO ─────────────────────────────────────────► enters the jail
 *       reports it to the agent ◄──────────────────── READY
 *
 * The child is not a child process of the launcher, so the launcher holds a process descriptor of it, under a number by which a later agent finds it
 * (find-vm-processes.ts). If the launcher ends at any step, the child does, too.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jail.h"
#include "zygote.h"

/* The number of the process descriptor. */
#define HELD_FD 3
#define ANSWER_MS 10000
/* What clone() calls each namespace that the child enters. The pid namespace is new. */
static const char *const namespaces[] = {"mnt", "net", "ipc", "uts"};

static struct zygote_request request;
static int sources[ZYGOTE_MAX_DESCRIPTORS];

static void add(int fd, int target)
{
	if (fd < 0 || request.target_count == ZYGOTE_MAX_DESCRIPTORS)
		fail("descriptor for the child");
	sources[request.target_count] = fd;
	request.targets[request.target_count++] = target;
}

static void add_namespaces(pid_t holder)
{
	char path[64];

	for (unsigned i = 0; i < sizeof namespaces / sizeof *namespaces; i++) {
		snprintf(path, sizeof path, "/proc/%d/ns/%s", holder, namespaces[i]);
		add(open(path, O_RDONLY | O_CLOEXEC), ZYGOTE_NAMESPACE);
	}
}

/* Through these, a process joins by writing to them; for a group of version 2 it is the file that the kernel has for it. */
static void add_groups(void)
{
	char path[4096];

	for (int i = 0; i < options.group_count; i++)
		add(open(options.groups[i], O_WRONLY | O_CLOEXEC), ZYGOTE_GROUP);
	if (options.cgroup == NULL)
		return;
	if (snprintf(path, sizeof path, "%s/cgroup.procs", options.cgroup) >= (int)sizeof path)
		fail("%s", options.cgroup);
	add(open(path, O_WRONLY | O_CLOEXEC), ZYGOTE_GROUP);
}

static void add_descriptors(void)
{
	for (int i = 0; i < options.over_count; i++)
		add(options.over[i].from, options.over[i].to);
	if (options.tap.name != NULL)
		add(options.tap.fd, options.tap.fd);
	for (int i = 0; i < options.listener_count; i++)
		add(options.listeners[i].fd, options.listeners[i].fd);
	request.counter_count = options.renewed_count;
	memcpy(request.counters, options.renewed, sizeof options.renewed);
	request.shared_count = options.shared_count;
	memcpy(request.shared, options.shared, sizeof options.shared);
}

static int is_server(pid_t thread)
{
	char path[64], name[16] = "";
	int file;

	snprintf(path, sizeof path, "/proc/%ld/task/%d/comm", options.zygote_pid, thread);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return 0;
	(void)!read(file, name, sizeof name - 1);
	close(file);
	return strcmp(name, "zygote\n") == 0;
}

/* Every thread except the one that answers. */
static int list_threads(int32_t *threads)
{
	char path[64];
	DIR *folder;
	struct dirent *entry;
	int count = 0;

	snprintf(path, sizeof path, "/proc/%ld/task", options.zygote_pid);
	folder = opendir(path);
	if (folder == NULL)
		fail("threads of the zygote");
	while ((entry = readdir(folder)) != NULL) {
		pid_t thread = atoi(entry->d_name);

		if (thread == 0 || is_server(thread))
			continue;
		if (count == ZYGOTE_MAX_THREADS - 1) {
			errno = E2BIG;
			fail("threads of the zygote");
		}
		threads[count++] = thread;
	}
	closedir(folder);
	return count;
}

static int has_new_thread(void)
{
	int32_t now[ZYGOTE_MAX_THREADS];
	int count = list_threads(now);

	for (int i = 0; i < count; i++) {
		int is_known = 0;

		for (int j = 0; j < request.thread_count; j++)
			is_known |= request.threads[j] == now[i];
		if (!is_known)
			return 1;
	}
	return 0;
}

static void send_request(int zygote)
{
	char space[CMSG_SPACE(sizeof sources)] = {0};
	size_t length = (size_t)request.target_count * sizeof(int);
	struct iovec data = {&request, sizeof request};
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = space, .msg_controllen = CMSG_SPACE(length)};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(length);
	memcpy(CMSG_DATA(header), sources, length);
	if (sendmsg(zygote, &message, MSG_NOSIGNAL) != sizeof request)
		fail("request to the zygote");
}

static void tell(int zygote, enum zygote_kind kind)
{
	const struct zygote_message message = {.kind = kind};

	if (send(zygote, &message, sizeof message, MSG_NOSIGNAL) != sizeof message)
		fail("zygote");
}

/* Returns the value of a message of this kind. */
static int expect(int zygote, enum zygote_kind kind)
{
	struct pollfd waiting = {.fd = zygote, .events = POLLIN};
	struct zygote_message message;

	errno = ETIMEDOUT;
	if (poll(&waiting, 1, ANSWER_MS) <= 0 || recv(zygote, &message, sizeof message, MSG_WAITALL) != sizeof message)
		fail("answer of the zygote");
	if (message.kind == (int)kind)
		return message.value;
	errno = message.value;
	message.step[sizeof message.step - 1] = '\0';
	fail("zygote: %s (%d)", message.step, message.value);
}

/* Keeps nothing but the process descriptor and the connection, by whose end the child learns that its launcher has ended. */
static _Noreturn void wait_for(int child, int connection)
{
	struct pollfd end = {.fd = HELD_FD, .events = POLLIN};

	if (connection == HELD_FD)
		connection = dup(connection);
	if (dup2(child, HELD_FD) < 0 || dup2(connection, HELD_FD + 1) < 0)
		fail("process of the child");
	syscall(SYS_close_range, 0, HELD_FD - 1, 0);
	syscall(SYS_close_range, HELD_FD + 2, ~0U, 0);
	if (options.lease != NULL)
		keep_to_lease(HELD_FD);
	while (poll(&end, 1, -1) < 0 && errno == EINTR)
		;
	_exit(0);
}

static int connect_to_zygote(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int zygote = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(options.zygote) >= sizeof address.sun_path) {
		errno = ENAMETOOLONG;
		fail("zygote %s", options.zygote);
	}
	strcpy(address.sun_path, options.zygote);
	if (zygote < 0 || connect(zygote, (struct sockaddr *)&address, sizeof address) != 0)
		fail("zygote %s", options.zygote);
	return zygote;
}

void be_launcher_of_child(int holder, int holder_is_ready)
{
	int child, zygote = connect_to_zygote();
	pid_t pid;
	char byte;

	if (read(holder_is_ready, &byte, 1) != 1)
		fail("namespaces");
	request.uid = (int32_t)options.uid;
	request.images = options.images;
	request.memory = options.memory;
	request.layer_count = options.layer_count;
	add_namespaces(holder);
	add_groups();
	add_descriptors();
	request.thread_count = list_threads(request.threads);
	send_request(zygote);
	expect(zygote, ZYGOTE_PARKED);
	tell(zygote, has_new_thread() ? ZYGOTE_STOP : ZYGOTE_GO);
	pid = expect(zygote, ZYGOTE_FORKED);
	child = (int)syscall(SYS_pidfd_open, pid, 0);
	if (child < 0)
		fail("process of the child");
	tell(zygote, ZYGOTE_GO);
	expect(zygote, ZYGOTE_READY);
	report(pid);
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	wait_for(child, zygote);
}
