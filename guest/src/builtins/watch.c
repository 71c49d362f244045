// The folders that are watched form a tree of names, so that a folder which is moved takes its path along.
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
#include "bytes.h"

enum {
	FOLDERS_MAX = 8192,
	ROOT = 0,
	NOWHERE = -1,
	// Both halves of a move are made at once; only a read may fall between them.
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

struct left {
	bool is_pending;
	uint32_t cookie;
	bool is_folder;
	int folder; // the index of what was moved, when it is a watched folder
	char path[PATH_MAX];
};

static struct folder folders[FOLDERS_MAX];
static int folders_used;
static const char *root; // by path: whoever holds a folder does not hear of its end
static int queue;
static bool is_recursive;
static struct left left; // the first half of a move

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

static void tell(enum change change, bool is_folder, const char *path, const char *target)
{
	uint8_t record[6] = {(uint8_t)change, is_folder};
	write_u16(record + 2, (uint16_t)strlen(path));
	write_u16(record + 4, (uint16_t)strlen(target));
	answer_bytes(record, sizeof record);
	answer_bytes(path, strlen(path));
	answer_bytes(target, strlen(target));
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

static int watch_folder(int parent, const char *name, bool tells);

// What is there already, or came before the watch was set. It may be told again by an event: better twice than never.
static int look_into(int index, bool tells)
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
		if (tells && entry_path(index, found->d_name, entry))
			tell(CREATED, S_ISDIR(about.st_mode), entry, "");
		if (S_ISDIR(about.st_mode) && is_recursive)
			error = watch_folder(index, found->d_name, tells);
	}
	closedir(listing);
	return error;
}

// ENOSPC: more folders than we, or the kernel, watch.
static int watch_folder(int parent, const char *name, bool tells)
{
	char entry[PATH_MAX], path[PATH_MAX];
	if (find_child(parent, name) != NOWHERE)
		return 0;
	if (!entry_path(parent, name, entry) || !real_path(entry, path))
		return ENAMETOOLONG;
	int watch = inotify_add_watch(queue, path, events_wanted | IN_DONT_FOLLOW);
	// Gone again, or not ours to see.
	if (watch < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : errno;
	if (find_folder(watch) != NOWHERE)
		return 0;
	int index = new_folder(watch, parent, name);
	if (index == NOWHERE) {
		inotify_rm_watch(queue, watch);
		return ENOSPC;
	}
	return look_into(index, tells);
}

static bool is_below(int index, int ancestor)
{
	while (index != NOWHERE && index != ancestor)
		index = folders[index].parent;
	return index == ancestor;
}

// It left the tree: it and all below are watched no more.
static void unwatch(int top)
{
	static bool goes[FOLDERS_MAX];
	for (int i = 1; i < folders_used; i++)
		goes[i] = folders[i].watch != NOWHERE && is_below(i, top);
	for (int i = 1; i < folders_used; i++) {
		if (!goes[i])
			continue;
		inotify_rm_watch(queue, folders[i].watch);
		free_folder(i);
	}
}

static void finish_left(void)
{
	if (!left.is_pending)
		return;
	left.is_pending = false;
	tell(DELETED, left.is_folder, left.path, "");
	if (left.folder != NOWHERE)
		unwatch(left.folder);
}

static void begin_left(int folder, const struct inotify_event *event, const char *path)
{
	bool is_folder = (event->mask & IN_ISDIR) != 0;
	left.is_pending = true;
	left.cookie = event->cookie;
	left.is_folder = is_folder;
	left.folder = is_folder && is_recursive ? find_child(folder, event->name) : NOWHERE;
	snprintf(left.path, sizeof left.path, "%s", path);
}

static int arrive(int folder, const struct inotify_event *event, const char *path)
{
	bool is_folder = (event->mask & IN_ISDIR) != 0;
	if (!left.is_pending || left.cookie != event->cookie) {
		finish_left();
		tell(CREATED, is_folder, path, "");
		return is_folder && is_recursive ? watch_folder(folder, event->name, true) : 0;
	}
	left.is_pending = false;
	tell(MOVED, is_folder, left.path, path);
	if (left.folder == NOWHERE)
		return is_folder && is_recursive ? watch_folder(folder, event->name, true) : 0;
	char *name = strdup(event->name);
	if (name == NULL)
		return ENOMEM;
	free(folders[left.folder].name);
	folders[left.folder].name = name;
	folders[left.folder].parent = folder;
	return 0;
}

// 0, an error number, or -1 when the folder itself is gone.
static int take_event(const struct inotify_event *event)
{
	char path[PATH_MAX];
	if ((event->mask & IN_Q_OVERFLOW) != 0) {
		finish_left();
		tell(OVERFLOW, false, "", "");
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
		return arrive(folder, event, path);
	finish_left();
	bool is_folder = (event->mask & IN_ISDIR) != 0;
	if ((event->mask & IN_MOVED_FROM) != 0)
		begin_left(folder, event, path);
	else if ((event->mask & IN_CREATE) != 0)
		tell(CREATED, is_folder, path, "");
	else if ((event->mask & IN_DELETE) != 0)
		tell(DELETED, is_folder, path, "");
	else
		tell(MODIFIED, is_folder, path, "");
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

// The host sends nothing: its END, or its end, is the end of the watch.
static int follow(void)
{
	int result = 0;
	while (result == 0) {
		struct pollfd waits[2] = {{.fd = queue, .events = POLLIN}, {.fd = STDIN_FILENO, .events = POLLIN}};
		int count = poll(waits, 2, left.is_pending ? MOVE_GRACE_MS : -1);
		if (count < 0 && errno != EINTR)
			return errno;
		if (count == 0)
			finish_left();
		if (count > 0 && (waits[0].revents & POLLIN) != 0)
			result = take_events();
		if (count > 0 && waits[1].revents != 0)
			result = -1;
		answer_flush();
	}
	finish_left();
	if (result > 0)
		return result;
	tell(ENDED, true, "", "");
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
	int error = new_folder(watch, NOWHERE, "") == ROOT ? look_into(ROOT, false) : ENOMEM;
	if (error != 0)
		return builtin_fail("watch", error);
	tell(READY, true, "", "");
	answer_flush();
	error = follow();
	return error == 0 ? 0 : builtin_fail("watch", error);
}
