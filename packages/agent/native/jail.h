/* What the files of the jail's launcher share (jail.c). */
#ifndef JAIL_H
#define JAIL_H

#include <sys/resource.h>

#define MAX_BINDS 8
#define MAX_GROUPS 8
#define MAX_LISTENERS 8
#define MAX_TARGETS 160
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

#pragma GCC visibility push(hidden)

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
	/* The file with the end of the host's lease; NULL: the program needs none. */
	const char *lease;
	rlim_t memory_bytes, cpu_seconds;
	/* Milliseconds; 0: its threads take turns as the host's other ones do. */
	long batch_ms;
	/* The program will be a zygote. */
	int makes_children;
	/* The program is a child of this zygote: the path of its socket, and its process id. */
	const char *zygote;
	long zygote_pid;
	/* What becomes of the zygote's descriptors in the child: replaced (by which of the launcher's), made anew, shared. */
	struct {
		int from, to;
	} over[MAX_TARGETS];
	int over_count, renewed[MAX_TARGETS], renewed_count, shared[MAX_TARGETS], shared_count;
	/* The descriptor on which the child serves images of its memory (memory-image.c); -1: none. */
	int images;
	/* The child continues another VM: the first of its descriptors for that (zygote.h); -1: it does not. */
	int memory, layer_count;
	char **program;
} options;

/* Reads the command line. Ends the process if it is not complete. */
void read_options(int count, char **arguments);

/* Prints the message with the text of errno, and ends the process with CANNOT_RUN. */
_Noreturn void fail(const char *format, ...);

/* Installs the system-call filter for this process and its children. Returns 0, or -1 with errno. Needs no_new_privs. */
int install_filter(void);

/* The same for a zygote, which may also make its children and let them drop its rights. */
int install_zygote_filter(void);

/*
 * Takes a user and group without capabilities, and without a way to gain any; keep_rights keeps those that a zygote needs. Returns NULL,
 * or the name of the step that failed, with errno.
 */
const char *drop_rights(long uid);
const char *keep_rights(long uid);

/* The zygote's launcher (jail-zygote.c) uses these parts of jail.c. */
void enter_root(void);
_Noreturn void end_as(int status);
void report(int program);

/* Ends the process if there is a lease that has ended. */
void require_lease(void);

/* Lets a program run only during the lease, until it ends. The argument is its process descriptor. */
void keep_to_lease(int program);

/* Asks a zygote for a child, and waits until it ends. `holder` is a process in the child's namespaces, which the child enters. */
_Noreturn void be_launcher_of_child(int holder, int holder_is_ready);

#pragma GCC visibility pop

#endif
