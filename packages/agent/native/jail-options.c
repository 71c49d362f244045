/* The command line of the jail's launcher. jail.c describes the options. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jail.h"

struct options options = {.uid = -1, .report = -1, .images = -1, .memory = -1, .memory_bytes = RLIM_INFINITY, .cpu_seconds = RLIM_INFINITY};

_Noreturn void fail(const char *format, ...)
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

static void add_target(int from, int to)
{
	if (options.over_count == MAX_TARGETS) {
		errno = E2BIG;
		fail("--over %d", from);
	}
	options.over[options.over_count].from = from;
	options.over[options.over_count++].to = to;
}

static void add_number(int *list, int *count, const char *text)
{
	if (*count == MAX_TARGETS) {
		errno = E2BIG;
		fail("descriptor %s", text);
	}
	list[(*count)++] = (int)number(text);
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
	if (strcmp(name, "--makes-children") == 0)
		return options.makes_children = 1, 1;
	if (first != NULL && strcmp(name, "--root") == 0)
		return options.root = first, 2;
	if (first != NULL && strcmp(name, "--uid") == 0)
		return options.uid = number(first), 2;
	if (first != NULL && strcmp(name, "--join") == 0)
		return add_group(first), 2;
	if (first != NULL && strcmp(name, "--cgroup") == 0)
		return options.cgroup = first, 2;
	if (first != NULL && strcmp(name, "--lease") == 0)
		return options.lease = first, 2;
	if (first != NULL && strcmp(name, "--memory") == 0)
		return options.memory_bytes = (rlim_t)number(first), 2;
	if (first != NULL && strcmp(name, "--cpu") == 0)
		return options.cpu_seconds = (rlim_t)number(first), 2;
	if (first != NULL && strcmp(name, "--batch") == 0)
		return options.batch_ms = number(first), 2;
	if (first != NULL && strcmp(name, "--files") == 0)
		return options.files = (int)number(first), 2;
	if (first != NULL && strcmp(name, "--report") == 0)
		return options.report = (int)number(first), 2;
	if (first != NULL && strcmp(name, "--renew") == 0)
		return add_number(options.renewed, &options.renewed_count, first), 2;
	if (first != NULL && strcmp(name, "--share") == 0)
		return add_number(options.shared, &options.shared_count, first), 2;
	if (first != NULL && strcmp(name, "--images") == 0)
		return options.images = (int)number(first), 2;
	if (second != NULL && strcmp(name, "--continue") == 0)
		return options.memory = (int)number(first), options.layer_count = (int)number(second), 3;
	if (second != NULL && strcmp(name, "--over") == 0)
		return add_target((int)number(first), (int)number(second)), 3;
	if (second != NULL && strcmp(name, "--zygote") == 0)
		return options.zygote = first, options.zygote_pid = number(second), 3;
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

void read_options(int count, char **arguments)
{
	int at = 1;

	while (at < count && strcmp(arguments[at], "--") != 0)
		at += read_option(count - at, arguments + at);
	options.program = arguments + at + 1;
	errno = EINVAL;
	if ((options.zygote == NULL && at + 1 >= count) || options.root == NULL)
		fail("a root and a program are needed");
	/* User 0 would keep its rights over the files of the host that are bound here. */
	if (options.uid <= 0)
		fail("a user other than root is needed");
}
