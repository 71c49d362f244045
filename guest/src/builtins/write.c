// Writes a draft and renames it when it is complete, so readers see the old content or the new. With O_TMPFILE the
// draft has no name, so KILL at any moment leaves nothing behind. Where the file system has no O_TMPFILE, a cleanup
// process removes the draft; it has a session of its own, which KILL does not reach.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "builtins/answer.h"
#include "builtins/builtins.h"
#include "builtins/draft-name.h"
#include "builtins/resolved-path.h"

struct draft {
	int fd;
	bool has_name;
	char name[DRAFT_NAME_BYTES]; // the hidden name of the draft, if only between link and rename
	bool replaces;
	struct stat old;
};

// Only a regular file that this user may write can be replaced.
static int check_replaced(const struct resolved_path *resolved, struct draft *draft)
{
	if (fstatat(resolved->parent, resolved->name, &draft->old, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 0 : errno;
	if (S_ISDIR(draft->old.st_mode))
		return EISDIR;
	if (!S_ISREG(draft->old.st_mode))
		return EINVAL;
	draft->replaces = true;
	return faccessat(resolved->parent, resolved->name, W_OK, AT_EACCESS) != 0 ? errno : 0;
}

// Starts the cleanup process. It removes the draft when the pipe is closed without a byte that reports success.
static int start_cleanup(const struct resolved_path *resolved, const struct draft *draft)
{
	int pipe_fds[2];
	if (pipe2(pipe_fds, O_CLOEXEC) != 0)
		return -1;
	pid_t pid = fork();
	if (pid == 0) {
		setsid();
		close(pipe_fds[1]);
		close(STDIN_FILENO);
		close(STDOUT_FILENO);
		close(STDERR_FILENO);
		char success;
		if (read(pipe_fds[0], &success, 1) == 0)
			unlinkat(resolved->parent, draft->name, 0);
		_exit(0);
	}
	close(pipe_fds[0]);
	return pid < 0 ? -1 : pipe_fds[1];
}

// Sets `cleanup` to the pipe of the cleanup process, or to -1 when none is needed.
static int open_draft(const struct resolved_path *resolved, struct draft *draft, int *cleanup)
{
	*cleanup = -1;
	int error = draft_name_choose(draft->name);
	if (error != 0)
		return error;
	draft->fd = openat(resolved->parent, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (draft->fd >= 0)
		return 0;
	if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
		return errno;
	// The cleanup process starts before the draft exists, so that no draft is ever without it.
	*cleanup = start_cleanup(resolved, draft);
	if (*cleanup < 0)
		return errno;
	draft->has_name = true;
	draft->fd = openat(resolved->parent, draft->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return draft->fd < 0 ? errno : 0;
}

static int copy_stdin(int fd, uint64_t *total)
{
	static uint8_t bytes[64 * 1024];
	for (;;) {
		ssize_t got = read(STDIN_FILENO, bytes, sizeof bytes);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? errno : 0;
		for (ssize_t done = 0; done < got;) {
			ssize_t put = write(fd, bytes + done, (size_t)(got - done));
			if (put < 0 && errno != EINTR)
				return errno;
			done += put > 0 ? put : 0;
		}
		*total += (uint64_t)got;
	}
}

// Keeps the owner and the mode of the replaced file, unless a mode was requested. When the user may not chown, the user
// owns the new file, as with `builtin_takes_over`. The file then loses its set-id bits, which would lend that user's
// rights to others.
static int set_owner_and_mode(const struct draft *draft, const char *mode)
{
	mode_t wanted = mode[0] != '\0' ? (mode_t)strtoul(mode, NULL, 8) & 07777 : 0644;
	if (draft->replaces) {
		if (mode[0] == '\0')
			wanted = draft->old.st_mode & 07777;
		if (builtin_takes_over || fchown(draft->fd, draft->old.st_uid, draft->old.st_gid) != 0)
			wanted &= ~(mode_t)(S_ISUID | S_ISGID);
	}
	return fchmod(draft->fd, wanted) != 0 ? errno : 0;
}

static int put_in_place(const struct resolved_path *resolved, const struct draft *draft)
{
	char path[DESCRIPTOR_PATH_BYTES];
	descriptor_path(path, draft->fd);
	if (!draft->has_name && !draft->replaces &&
	    linkat(AT_FDCWD, path, resolved->parent, resolved->name, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	if (!draft->has_name && linkat(AT_FDCWD, path, resolved->parent, draft->name, AT_SYMLINK_FOLLOW) != 0)
		return errno;
	if (renameat(resolved->parent, draft->name, resolved->parent, resolved->name) == 0)
		return 0;
	int error = errno;
	unlinkat(resolved->parent, draft->name, 0);
	return error;
}

// In a session of its own, which KILL does not reach: a KILL between link and rename would leave the hidden name
// behind.
static int put_in_place_unkillable(const struct resolved_path *resolved, const struct draft *draft)
{
	pid_t pid = fork();
	if (pid < 0)
		return errno;
	if (pid == 0) {
		setsid();
		_exit(put_in_place(resolved, draft));
	}
	int status;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

int builtin_write(char *const *argv)
{
	size_t path_bytes = strlen(argv[0]);
	struct resolved_path resolved;
	struct draft draft = {.fd = -1};
	int cleanup;
	uint64_t total = 0;
	// Beyond the file size limit write() then fails with EFBIG, instead of ending this process.
	signal(SIGXFSZ, SIG_IGN);
	int error = resolve_path(&resolved, argv[0], argv[2][0] == '1');
	if (error == 0)
		error = follow_links(&resolved);
	if (error != 0)
		return builtin_fail("folder", error);
	if (is_dot(&resolved) || argv[0][path_bytes - 1] == '/')
		return builtin_fail("open", EISDIR);
	error = check_replaced(&resolved, &draft);
	if (error == 0)
		error = open_draft(&resolved, &draft, &cleanup);
	if (error != 0)
		return builtin_fail("open", error);
	error = copy_stdin(draft.fd, &total);
	if (error != 0)
		return builtin_fail("write", error);
	error = set_owner_and_mode(&draft, argv[1]);
	if (error == 0)
		error = put_in_place_unkillable(&resolved, &draft);
	if (error != 0)
		return builtin_fail("rename", error);
	if (cleanup >= 0 && write(cleanup, "1", 1) != 1)
		return builtin_fail("rename", EIO);
	answer_u64(total);
	return 0;
}
