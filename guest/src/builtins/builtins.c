#include "builtins/builtins.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "builtins/answer.h"
#include "bytes.h"
#include "protocol.h"

struct builtin {
	const char *name;
	size_t arguments;
	int (*run)(char *const *argv);
};

static const struct builtin builtins[] = {
	{"read", 3, builtin_read},    {"write", 3, builtin_write}, {"stat", 1, builtin_stat},
	{"list", 1, builtin_list},    {"remove", 2, builtin_remove}, {"mkdir", 3, builtin_mkdir},
	{"move", 4, builtin_move},    {"archive", 1, builtin_archive}, {"unpack", 1, builtin_unpack},
	{"watch", 2, builtin_watch},  {"sync", 1, builtin_sync},   {"grow", 2, builtin_grow},
	{"layer", 5, builtin_layer},
#if OFFSHOOT_PROTOCOL_VERSION > 5
	// Newer than protocol version 5: a guest of that version stands for older guests in tests.
	{"describe", 1, builtin_describe}, {"walk", 2, builtin_walk},
#endif
};

static const struct builtin *find(const char *name)
{
	for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++)
		if (strcmp(builtins[i].name, name) == 0)
			return &builtins[i];
	return NULL;
}

bool builtin_takes_over = false;

bool builtin_exists(const char *name)
{
	return find(name) != NULL;
}

int builtin_fail(const char *step, int error)
{
	uint8_t record[4 + 256];
	answer_flush();
	write_u32(record, (uint32_t)error);
	snprintf((char *)record + 4, sizeof record - 4, "%s: %s", step, strerror(error));
	// When this write fails, the host is gone.
	ssize_t put = write(STDERR_FILENO, record, 4 + strlen((char *)record + 4));
	(void)put;
	return 1;
}

// A recursive walk holds one descriptor for each level, and the usual soft limit would be too small.
static void allow_deep_walks(void)
{
	struct rlimit files;
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
}

int builtin_run(const char *name, char *const *argv)
{
	const struct builtin *builtin = find(name);
	size_t count = 0;
	while (argv[count] != NULL)
		count++;
	if (builtin == NULL || count != builtin->arguments)
		return builtin_fail("arguments", EINVAL);
	allow_deep_walks();
	int exit_code = builtin->run(argv);
	answer_flush();
	return exit_code;
}
