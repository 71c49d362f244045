/* What the files of the jail's launcher share (jail.c). */
#ifndef JAIL_H
#define JAIL_H

#include <sys/resource.h>

#define MAX_BINDS 8
#define MAX_GROUPS 8
#define MAX_LISTENERS 8
/* The exit code of a shell that cannot start a program. */
#define CANNOT_RUN 127

struct bind {
	const char *from, *to;
	int is_writable;
};

/* A descriptor that the launcher opens, and the number under which the program expects it. */
struct opened {
	const char *name;
	int fd;
};

extern struct options {
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
} options;

/* Reads the command line. Ends the process if it is not complete. */
void read_options(int count, char **arguments);

/* Prints the message with the text of errno, and ends the process with CANNOT_RUN. */
_Noreturn void fail(const char *format, ...);

/* Installs the system-call filter for this process and its children. Returns 0, or -1 with errno. Needs no_new_privs. */
int install_filter(void);

#endif
