// Watched folders form a tree of names, so that moving a folder changes the paths of everything below it.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "builtins/answer.h"
#include "builtins/builtins.h"
#include "builtins/draft-name.h"
#include "bytes.h"

enum {
	FOLDERS_MAX = 8192,
	ROOT = 0,
	NOWHERE = -1,
	// The kernel queues both events of a move together, but one read may return only the first.
	MOVE_GRACE_MS = 20,
};

enum change { READY = 0, CREATED = 1, MODIFIED = 2, DELETED = 3, MOVED = 4, OVERFLOW = 5, ENDED = 6 };

static const uint32_t events_wanted = IN_CREATE | IN_MODIFY | IN_ATTRIB | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
				      IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_EXCL_UNLINK;

struct folder {
	int watch;  // NOWHERE: free
	int parent; // of the root: NOWHERE
	char *name;
};

struct pending_move {
	bool is_pending;
	uint32_t cookie;
	bool is_folder;
	bool is_draft;
	int folder; // the index of the moved folder when it is watched, else NOWHERE
	char path[PATH_MAX];
};

static struct folder folders[FOLDERS_MAX];
static int folders_used;
static const char *root; // a path: while a descriptor holds a folder open, inotify does not report its removal
static int queue;
static bool is_recursive;
static struct pending_move pending_move; // IN_MOVED_FROM whose IN_MOVED_TO may follow

static bool folder_path(int index, char *path, size_t room)
{
	if (index == ROOT || index == NOWHERE) {
		path[0] = '\0';
		return true;
	}
	if (!folder_path(folders[index].parent, path, room))
		return false;
	size_t used = strlen(path);
	return (size_t)snprintf(path + used, room - used, "%s%s", used > 0 ? "/" : "", folders[index].name) < room - used;
}

static bool entry_path(int folder, const char *name, char *path)
{
	if (!folder_path(folder, path, PATH_MAX))
		return false;
	size_t used = strlen(path);
	return (size_t)snprintf(path + used, PATH_MAX - used, "%s%s", used > 0 ? "/" : "", name) < PATH_MAX - used;
}

static bool real_path(const char *path, char *to)
{
	return (size_t)snprintf(to, PATH_MAX, "%s/%s", root, path) < PATH_MAX;
}

static void report(enum change change, bool is_folder, const char *path, const char *target)
{
	uint8_t record[6] = {(uint8_t)change, is_folder};
	write_u16(record + 2, (uint16_t)strlen(path));
	write_u16(record + 4, (uint16_t)strlen(target));
	answer_bytes(record, sizeof record);
	answer_bytes(path, strlen(path));
	answer_bytes(target, strlen(target));
}

// The name `#INODE` of a file without a name (O_TMPFILE), which the kernel uses in events. A file may really have such a
// name, so a name that exists is not one. When it was removed meanwhile, its removal is reported.
static bool is_unnamed(const char *name, const char *path)
{
	struct stat about;
	char file[PATH_MAX];
	if (name[0] != '#' || name[1] == '\0' || name[1 + strspn(name + 1, "0123456789")] != '\0')
		return false;
	return real_path(path, file) && lstat(file, &about) != 0 && errno == ENOENT;
}

// The builtin `write` makes drafts. Callers see the files that they become.
static bool is_draft(bool is_folder, const char *name)
{
	return !is_folder && draft_name_matches(name);
}

static int find_folder(int watch)
{
	for (int i = 0; i < folders_used; i++)
		if (folders[i].watch == watch)
			return i;
	return NOWHERE;
}

static int find_child(int parent, const char *name)
{
	for (int i = 1; i < folders_used; i++)
		if (folders[i].watch != NOWHERE && folders[i].parent == parent && strcmp(folders[i].name, name) == 0)
			return i;
	return NOWHERE;
}

static void free_folder(int index)
{
	free(folders[index].name);
	folders[index] = (struct folder){.watch = NOWHERE, .parent = NOWHERE};
}

static int new_folder(int watch, int parent, const char *name)
{
	int index = find_folder(NOWHERE);
	if (index == NOWHERE && folders_used == FOLDERS_MAX)
		return NOWHERE;
	char *copy = strdup(name);
	if (copy == NULL)
		return NOWHERE;
	if (index == NOWHERE)
		index = folders_used++;
	folders[index] = (struct folder){.watch = watch, .parent = parent, .name = copy};
	return index;
}

static int watch_folder(int parent, const char *name, bool reports);

// Finds entries that were made before the watch was set. An event may report one again: twice is better than never.
static int scan_folder(int index, bool reports)
{
	char path[PATH_MAX], entry[PATH_MAX];
	if (!folder_path(index, entry, sizeof entry) || !real_path(entry, path))
		return ENAMETOOLONG;
	DIR *listing = opendir(path);
	if (listing == NULL)
		return errno == ENOENT || errno == EACCES ? 0 : errno;
	int error = 0;
	struct dirent *found;
	while (error == 0 && (found = readdir(listing)) != NULL) {
		struct stat about;
		if (strcmp(found->d_name, ".") == 0 || strcmp(found->d_name, "..") == 0 ||
		    fstatat(dirfd(listing), found->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		if (reports && !is_draft(S_ISDIR(about.st_mode), found->d_name) && entry_path(index, found->d_name, entry))
			report(CREATED, S_ISDIR(about.st_mode), entry, "");
		if (S_ISDIR(about.st_mode) && is_recursive)
			error = watch_folder(index, found->d_name, reports);
	}
	closedir(listing);
	return error;
}

// Returns ENOSPC when there are more folders than FOLDERS_MAX or the kernel's limit.
static int watch_folder(int parent, const char *name, bool reports)
{
	char entry[PATH_MAX], path[PATH_MAX];
	if (find_child(parent, name) != NOWHERE)
		return 0;
	if (!entry_path(parent, name, entry) || !real_path(entry, path))
		return ENAMETOOLONG;
	int watch = inotify_add_watch(queue, path, events_wanted | IN_DONT_FOLLOW);
	// Removed meanwhile, or the user may not read it.
	if (watch < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : errno;
	if (find_folder(watch) != NOWHERE)
		return 0;
	int index = new_folder(watch, parent, name);
	if (index == NOWHERE) {
		inotify_rm_watch(queue, watch);
		return ENOSPC;
	}
	return scan_folder(index, reports);
}

static bool is_below(int index, int ancestor)
{
	while (index != NOWHERE && index != ancestor)
		index = folders[index].parent;
	return index == ancestor;
}

// Stops watching a folder that was moved out of the tree, and all folders below it.
static void unwatch(int top)
{
	static bool is_below_top[FOLDERS_MAX];
	for (int i = 1; i < folders_used; i++)
		is_below_top[i] = folders[i].watch != NOWHERE && is_below(i, top);
	for (int i = 1; i < folders_used; i++) {
		if (!is_below_top[i])
			continue;
		inotify_rm_watch(queue, folders[i].watch);
		free_folder(i);
	}
}

static void report_pending_as_deleted(void)
{
	if (!pending_move.is_pending)
		return;
	pending_move.is_pending = false;
	if (!pending_move.is_draft)
		report(DELETED, pending_move.is_folder, pending_move.path, "");
	if (pending_move.folder != NOWHERE)
		unwatch(pending_move.folder);
}

static void begin_move(int folder, const struct inotify_event *event, const char *path)
{
	bool is_folder = (event->mask & IN_ISDIR) != 0;
	pending_move.is_pending = true;
	pending_move.cookie = event->cookie;
	pending_move.is_folder = is_folder;
	pending_move.is_draft = is_draft(is_folder, event->name);
	pending_move.folder = is_folder && is_recursive ? find_child(folder, event->name) : NOWHERE;
	snprintf(pending_move.path, sizeof pending_move.path, "%s", path);
}

static int on_moved_to(int folder, const struct inotify_event *event, const char *path)
{
	bool is_folder = (event->mask & IN_ISDIR) != 0;
	if (!pending_move.is_pending || pending_move.cookie != event->cookie) {
		report_pending_as_deleted();
		report(CREATED, is_folder, path, "");
		return is_folder && is_recursive ? watch_folder(folder, event->name, true) : 0;
	}
	pending_move.is_pending = false;
	// A draft takes the place of the file with its final name.
	if (pending_move.is_draft)
		report(MODIFIED, is_folder, path, "");
	else
		report(MOVED, is_folder, pending_move.path, path);
	if (pending_move.folder == NOWHERE)
		return is_folder && is_recursive ? watch_folder(folder, event->name, true) : 0;
	char *name = strdup(event->name);
	if (name == NULL)
		return ENOMEM;
	free(folders[pending_move.folder].name);
	folders[pending_move.folder].name = name;
	folders[pending_move.folder].parent = folder;
	return 0;
}

// Returns 0, an errno, or -1 when the watched folder itself is gone.
static int take_event(const struct inotify_event *event)
{
	char path[PATH_MAX];
	if ((event->mask & IN_Q_OVERFLOW) != 0) {
		report_pending_as_deleted();
		report(OVERFLOW, false, "", "");
		return 0;
	}
	int folder = find_folder(event->wd);
	if (folder == NOWHERE)
		return 0;
	if ((event->mask & IN_IGNORED) != 0 && folder != ROOT) {
		free_folder(folder);
		return 0;
	}
	if ((event->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT)) != 0)
		return folder == ROOT ? -1 : 0;
	if (event->len == 0 || !entry_path(folder, event->name, path))
		return 0;
	if ((event->mask & IN_MOVED_TO) != 0)
		return on_moved_to(folder, event, path);
	report_pending_as_deleted();
	bool is_folder = (event->mask & IN_ISDIR) != 0;
	if ((event->mask & IN_MOVED_FROM) != 0)
		begin_move(folder, event, path);
	else if (is_draft(is_folder, event->name))
		return 0;
	else if ((event->mask & IN_CREATE) != 0)
		report(CREATED, is_folder, path, "");
	else if ((event->mask & IN_DELETE) != 0)
		report(DELETED, is_folder, path, "");
	else if (!is_unnamed(event->name, path))
		report(MODIFIED, is_folder, path, "");
	return (event->mask & IN_CREATE) != 0 && is_folder && is_recursive ? watch_folder(folder, event->name, true) : 0;
}

static int take_events(void)
{
	static _Alignas(struct inotify_event) char events[64 * 1024];
	ssize_t got = read(queue, events, sizeof events);
	if (got < 0)
		return errno == EINTR || errno == EAGAIN ? 0 : errno;
	int result = 0;
	for (ssize_t at = 0; at < got && result == 0;) {
		const struct inotify_event *event = (const struct inotify_event *)(const void *)(events + at);
		result = take_event(event);
		at += (ssize_t)(sizeof *event + event->len);
	}
	return result;
}

// Runs until stdin ends, which means that the host closed the watch or is gone. The host sends no bytes.
static int follow(void)
{
	int result = 0;
	while (result == 0) {
		struct pollfd waits[2] = {{.fd = queue, .events = POLLIN}, {.fd = STDIN_FILENO, .events = POLLIN}};
		int count = poll(waits, 2, pending_move.is_pending ? MOVE_GRACE_MS : -1);
		if (count < 0 && errno != EINTR)
			return errno;
		if (count == 0)
			report_pending_as_deleted();
		if (count > 0 && (waits[0].revents & POLLIN) != 0)
			result = take_events();
		if (count > 0 && waits[1].revents != 0)
			result = -1;
		answer_flush();
	}
	report_pending_as_deleted();
	if (result > 0)
		return result;
	report(ENDED, true, "", "");
	return 0;
}

int builtin_watch(char *const *argv)
{
	is_recursive = argv[1][0] == '1';
	root = argv[0];
	queue = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	int watch = queue < 0 ? -1 : inotify_add_watch(queue, root, events_wanted);
	if (watch < 0)
		return builtin_fail("watch", errno);
	int error = new_folder(watch, NOWHERE, "") == ROOT ? scan_folder(ROOT, false) : ENOMEM;
	if (error != 0)
		return builtin_fail("watch", error);
	report(READY, true, "", "");
	answer_flush();
	error = follow();
	return error == 0 ? 0 : builtin_fail("watch", error);
}
