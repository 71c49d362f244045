/*
 * Runs in a jail in place of QEMU (machine/host/jail.test.ts), and reports as JSON on standard output what it can do there. Then it
 * waits to be killed.
 *
 * inside-jail PATH...: tries to read each path. allowed.h contains the numbers of the system calls that the filter allows.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define LAST_CALL 470
/* The highest pid to look for. */
#define LAST_PID 40000
#define LAST_DESCRIPTOR 1024

static const int allowed[] = {
#include "allowed.h"
};

/* The result of a system call, written by the child process that tries it. */
static volatile int *outcome;

static void list(const char *key, const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	const char *before = "";

	printf("\"%s\":[", key);
	while (folder != NULL && (entry = readdir(folder)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		printf("%s\"%s\"", before, entry->d_name);
		before = ",";
	}
	printf("],");
}

static int can_open(const char *path, int flags)
{
	int fd = open(path, flags, 0600);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Whether the process can run a program that it has written itself. */
static int can_run_own(const char *self)
{
	char buffer[65536];
	int from = open(self, O_RDONLY), to = open("/vm/program", O_WRONLY | O_CREAT | O_TRUNC, 0700), status;
	ssize_t got;

	while ((got = read(from, buffer, sizeof buffer)) > 0)
		if (write(to, buffer, (size_t)got) != got)
			return 1;
	close(to);
	pid_t child = fork();
	if (child == 0) {
		execl("/vm/program", "/vm/program", "--", NULL);
		_exit(errno == EACCES ? 17 : 18);
	}
	waitpid(child, &status, 0);
	return !(WIFEXITED(status) && WEXITSTATUS(status) == 17);
}

static int other_processes(void)
{
	int found = 0;

	for (pid_t pid = 1; pid <= LAST_PID; pid++)
		if (pid != getpid() && (syscall(SYS_tgkill, pid, pid, 0) == 0 || errno != ESRCH))
			found++;
	return found;
}

static void wake(int signal)
{
	(void)signal;
}

/*
 * Whether the filter allows a system call. A timer interrupts calls that block. A call that ends its process leaves the outcome 0,
 * which means allowed.
 */
static int is_let_through(long number)
{
	const struct itimerval often = {{.tv_usec = 5000}, {.tv_usec = 5000}};
	const struct sigaction action = {.sa_handler = wake};
	int word = 0;

	*outcome = 0;
	pid_t child = fork();
	if (child == 0) {
		sigaction(SIGALRM, &action, NULL);
		setitimer(ITIMER_REAL, &often, NULL);
		/* futex itself returns ENOSYS for an unknown operation, so it needs a valid one. */
		long answer = number == SYS_futex ? syscall(number, &word, FUTEX_WAKE, 1, NULL, NULL, 0)
						  : syscall(number, -1L, -1L, -1L, -1L, -1L, -1L);

		*outcome = answer < 0 ? errno : 0;
		_exit(0);
	}
	waitpid(child, NULL, 0);
	return *outcome != EPERM && *outcome != ENOSYS;
}

static void print_calls(void)
{
	const char *before = "";

	printf("\"calls\":[");
	for (long number = 0; number <= LAST_CALL; number++) {
		if (!is_let_through(number))
			continue;
		printf("%s%ld", before, number);
		before = ",";
	}
	before = "";
	printf("],\"allowed\":[");
	for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++, before = ",")
		printf("%s%d", before, allowed[i]);
	printf("],");
}

int main(int count, char **arguments)
{
	const char *before = "";

	outcome = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	setvbuf(stdout, NULL, _IOFBF, 65536);
	printf("{\"descriptors\":[");
	for (int fd = 0; fd < LAST_DESCRIPTOR; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			continue;
		printf("%s%d", before, fd);
		before = ",";
	}
	printf("],\"pid\":%d,\"parent\":%d,\"others\":%d,", getpid(), getppid(), other_processes());
	list("root", "/");
	list("above", "/vm/../..");
	list("vm", "/vm");
	list("bake", "/bake");
	list("dev", "/dev");
	list("etc", "/etc");
	list("proc", "/proc");
	before = "";
	printf("\"read\":[");
	for (int i = 1; i < count; i++) {
		if (!can_open(arguments[i], O_RDONLY))
			continue;
		printf("%s\"%s\"", before, arguments[i]);
		before = ",";
	}
	printf("],\"writes\":{\"root\":%d,\"program\":%d,\"bake\":%d,\"dev\":%d,\"vm\":%d},", can_open("/new", O_WRONLY | O_CREAT),
	       can_open(arguments[0], O_WRONLY), can_open("/bake/file", O_WRONLY), can_open("/dev/new", O_WRONLY | O_CREAT),
	       can_open("/vm/new", O_WRONLY | O_CREAT));
	printf("\"kvm\":%d,\"runs_own\":%d,", can_open("/dev/kvm", O_RDWR), can_run_own(arguments[0]));
	fflush(stdout);
	print_calls();
	printf("\"uid\":%d,\"gid\":%d}\n", getuid(), getgid());
	fflush(stdout);
	/* Children that must end with the jail. */
	for (int i = 0; i < 3; i++)
		if (fork() == 0)
			break;
	for (;;)
		pause();
}
