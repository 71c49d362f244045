// With O_TMPFILE a draft has no name, so KILL at any moment leaves nothing behind. While a draft has its hidden name, a
// cleanup process would remove it after a KILL of this process. The cleanup process has a session of its own, which KILL
// does not reach. There is one for all drafts, because a process for each file of an archive takes longer than the file.
#include "builtins/draft.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "builtins/draft-name.h"
#include "builtins/resolved-path.h"

// All drafts of this process have this name, one after the other.
static char hidden[DRAFT_NAME_BYTES];
// Shared with the cleanup process: the folder of the draft, from its root.
static char *guarded;

// Runs in the cleanup process. When the writer ends, the kernel closes its end of the pipe, and this function removes
// the draft, if there is one.
static void clean_up(int pipe_fd, int root)
{
	char nothing;
	while (read(pipe_fd, &nothing, 1) < 0 && errno == EINTR) {
	}
	int folder = openat(root, guarded, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder >= 0)
		unlinkat(folder, hidden, 0);
}

static int start_cleanup(int root)
{
	int error = draft_name_choose(hidden);
	if (error != 0)
		return error;
	char *shared = mmap(NULL, PATH_MAX, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int pipe_fds[2];
	if (shared == MAP_FAILED || pipe2(pipe_fds, O_CLOEXEC) != 0)
		return errno;
	guarded = shared;
	pid_t pid = fork();
	if (pid == 0) {
		setsid();
		close(pipe_fds[1]);
		close(STDIN_FILENO);
		close(STDOUT_FILENO);
		close(STDERR_FILENO);
		clean_up(pipe_fds[0], root);
		_exit(0);
	}
	error = pid < 0 ? errno : 0;
	close(pipe_fds[0]);
	return error;
}

// Must precede the hidden name, so that no draft is ever without its cleanup.
static int guard(const struct draft_place *place)
{
	int error = guarded == NULL ? start_cleanup(place->root) : 0;
	if (error == 0)
		strcpy(guarded, place->path);
	return error;
}

int draft_open(struct draft *draft, const struct draft_place *place, bool hides_name)
{
	*draft = (struct draft){.fd = -1};
	if (hides_name) {
		draft->fd = openat(place->folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
		if (draft->fd >= 0)
			return 0;
		if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
			return errno;
	}
	int error = guard(place);
	if (error != 0)
		return error;
	draft->fd = openat(place->folder, hidden, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	draft->has_name = draft->fd >= 0;
	return draft->fd < 0 ? errno : 0;
}

static int link_draft(const struct draft *draft, const struct draft_place *place, const char *name)
{
	char path[DESCRIPTOR_PATH_BYTES];
	descriptor_path(path, draft->fd);
	return linkat(AT_FDCWD, path, place->folder, name, AT_SYMLINK_FOLLOW) != 0 ? errno : 0;
}

int draft_put_in_place(struct draft *draft, const struct draft_place *place, const char *name)
{
	if (!draft->has_name) {
		int error = link_draft(draft, place, name);
		if (error != EEXIST)
			return error;
		error = guard(place);
		if (error == 0)
			error = link_draft(draft, place, hidden);
		if (error != 0)
			return error;
		draft->has_name = true;
	}
	if (renameat(place->folder, hidden, place->folder, name) != 0)
		return errno;
	draft->has_name = false;
	return 0;
}

void draft_close(struct draft *draft, const struct draft_place *place)
{
	if (draft->has_name)
		unlinkat(place->folder, hidden, 0);
	if (draft->fd >= 0)
		close(draft->fd);
}
