// Writes a draft, which replaces the file when it is complete.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "builtins/answer.h"
#include "builtins/builtins.h"
#include "builtins/draft.h"
#include "builtins/resolved-path.h"

struct replaced {
	bool exists;
	struct stat about;
};

// Only a regular file that this user may write can be replaced.
static int check_replaced(const struct resolved_path *resolved, struct replaced *replaced)
{
	if (fstatat(resolved->parent, resolved->name, &replaced->about, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 0 : errno;
	if (S_ISDIR(replaced->about.st_mode))
		return EISDIR;
	if (!S_ISREG(replaced->about.st_mode))
		return EINVAL;
	replaced->exists = true;
	return faccessat(resolved->parent, resolved->name, W_OK, AT_EACCESS) != 0 ? errno : 0;
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
static int set_owner_and_mode(int fd, const struct replaced *replaced, const char *mode)
{
	mode_t wanted = mode[0] != '\0' ? (mode_t)strtoul(mode, NULL, 8) & 07777 : 0644;
	if (replaced->exists) {
		if (mode[0] == '\0')
			wanted = replaced->about.st_mode & 07777;
		if (builtin_takes_over || fchown(fd, replaced->about.st_uid, replaced->about.st_gid) != 0)
			wanted &= ~(mode_t)(S_ISUID | S_ISGID);
	}
	return fchmod(fd, wanted) != 0 ? errno : 0;
}

int builtin_write(char *const *argv)
{
	size_t path_bytes = strlen(argv[0]);
	struct resolved_path resolved;
	struct draft draft;
	struct replaced replaced = {0};
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
	error = check_replaced(&resolved, &replaced);
	const struct draft_place place = {.root = resolved.parent, .path = ".", .folder = resolved.parent};
	if (error == 0)
		error = draft_open(&draft, &place, true);
	if (error != 0)
		return builtin_fail("open", error);
	const char *step = "write";
	error = copy_stdin(draft.fd, &total);
	if (error == 0) {
		step = "rename";
		error = set_owner_and_mode(draft.fd, &replaced, argv[1]);
	}
	if (error == 0)
		error = draft_put_in_place(&draft, &place, resolved.name);
	draft_close(&draft, &place);
	if (error != 0)
		return builtin_fail(step, error);
	answer_u64(total);
	return 0;
}
