#include "volumes.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "file.h"
#include "protocol.h"

enum { DEVICE_ROOM = 24, DISK_ROOM = 32, NUMBER_ROOM = 16, PATH_ROOM = 256 };

#define DEVICES "/sys/bus/virtio/devices"
#define DRIVER "/sys/bus/virtio/drivers/virtio_blk"

// Name of the virtio device in each place; "" where the machine has none.
static char spares[VOLUMES_MAX][DEVICE_ROOM];

// Finds the block device of a virtio device, such as "vdb". False when it is not bound to the driver.
static bool find_disk(const char *device, char disk[DISK_ROOM])
{
	char path[PATH_ROOM];
	snprintf(path, sizeof path, DEVICES "/%s/block", device);
	DIR *listing = opendir(path);
	if (listing == NULL)
		return false;
	bool found = false;
	for (struct dirent *entry; !found && (entry = readdir(listing)) != NULL;) {
		if (entry->d_name[0] == '.' || strlen(entry->d_name) >= DISK_ROOM)
			continue;
		strcpy(disk, entry->d_name);
		found = true;
	}
	closedir(listing);
	return found;
}

// The serial number of a spare device names its place: "vol0" to "vol7". -1: not a spare device.
static int place_of(const char *device)
{
	char disk[DISK_ROOM], path[PATH_ROOM], serial[32];
	if (!find_disk(device, disk))
		return -1;
	snprintf(path, sizeof path, "/sys/block/%s/serial", disk);
	if (file_read(path, serial, sizeof serial) < 4 || strncmp(serial, "vol", 3) != 0)
		return -1;
	int place = serial[3] - '0';
	return place >= 0 && place < VOLUMES_MAX ? place : -1;
}

static void find_spares(void)
{
	DIR *listing = opendir(DRIVER);
	if (listing == NULL)
		return;
	for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
		if (strncmp(entry->d_name, "virtio", 6) != 0 || strlen(entry->d_name) >= DEVICE_ROOM)
			continue;
		int place = place_of(entry->d_name);
		if (place >= 0)
			strcpy(spares[place], entry->d_name);
	}
	closedir(listing);
}

static bool is_bound(const char *device)
{
	char path[PATH_ROOM];
	snprintf(path, sizeof path, DEVICES "/%s/driver", device);
	return access(path, F_OK) == 0;
}

// mountinfo escapes blanks and similar characters in octal, as \040.
static void unescape(char *text)
{
	char *to = text;
	for (const char *from = text; *from != '\0'; to++) {
		bool is_escaped = from[0] == '\\' && from[1] != '\0' && from[2] != '\0' && from[3] != '\0';
		*to = is_escaped ? (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0')) : *from;
		from += is_escaped ? 4 : 1;
	}
	*to = '\0';
}

// Calls `found` for each mount point of a disk until it returns false. A line of mountinfo begins with
// "id parent major:minor root mount-point".
static void each_mount(const char *disk, bool (*found)(const char *where, void *context), void *context)
{
	static char mounts[64 * 1024];
	char path[PATH_ROOM], number[NUMBER_ROOM];
	snprintf(path, sizeof path, "/sys/block/%s/dev", disk);
	if (file_read(path, number, sizeof number) < 0 || file_read("/proc/self/mountinfo", mounts, sizeof mounts) < 0)
		return;
	number[strcspn(number, "\n")] = '\0';
	char *lines = mounts;
	for (char *line; (line = strtok_r(lines, "\n", &lines)) != NULL;) {
		char *fields[5] = {NULL};
		for (size_t i = 0; i < 5; i++)
			fields[i] = strtok_r(line, " ", &line);
		if (fields[4] == NULL || strcmp(fields[2], number) != 0)
			continue;
		unescape(fields[4]);
		if (!found(fields[4], context))
			return;
	}
}

// Lazily: open files stay open, and their I/O fails at the device.
static bool unmount(const char *where, void *context)
{
	(void)context;
	umount2(where, MNT_DETACH);
	return true;
}

static bool copy_where(const char *where, void *context)
{
	snprintf(context, VOLUME_WHERE_ROOM, "%s", where);
	return false;
}

bool volumes_where(int place, char where[VOLUME_WHERE_ROOM], uint64_t *sectors)
{
	char disk[DISK_ROOM], path[PATH_ROOM], size[32];
	if (place < 0 || place >= VOLUMES_MAX || !find_disk(spares[place], disk))
		return false;
	snprintf(path, sizeof path, "/sys/block/%s/size", disk);
	if (file_read(path, size, sizeof size) < 0)
		return false;
	*sectors = strtoull(size, NULL, 10);
	where[0] = '\0';
	each_mount(disk, copy_where, where);
	return where[0] != '\0';
}

static int unbind(const char *device)
{
	char disk[DISK_ROOM];
	if (find_disk(device, disk))
		each_mount(disk, unmount, NULL);
	return file_write(DRIVER "/unbind", device);
}

void volumes_give_back(void)
{
	find_spares();
	volumes_set(0);
}

int volumes_set(uint8_t wanted)
{
	int error = 0;
	for (int place = 0; place < VOLUMES_MAX && error == 0; place++)
		if (spares[place][0] != '\0' && (wanted & 1 << place) == 0 && is_bound(spares[place]))
			error = unbind(spares[place]);
	for (int place = 0; place < VOLUMES_MAX && error == 0; place++) {
		if ((wanted & 1 << place) == 0)
			continue;
		if (spares[place][0] == '\0')
			error = ENODEV;
		else if (!is_bound(spares[place]))
			error = file_write(DRIVER "/bind", spares[place]);
	}
	return error;
}
