// The order matters. The console comes first, so that failures are seen. Modules come before the disk that they drive.
// The initramfs is emptied before the disk is mounted over it. The program never execs: it stays in memory, so nothing
// on the disk can replace or break it.
#include "boot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <sys/io.h>
#endif
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "file.h"
#include "interface.h"

enum {
	DEVICE_DEADLINE_MS = 20000,
	END_GRACE_MS = 2000,
	OPEN_FILES_SOFT = 65536,
	OPEN_FILES_HARD = 524288,
};

static const char root_device[] = "/dev/vda";

static void say(const char *what, int error)
{
	dprintf(STDERR_FILENO, "offshoot-guest: %s%s%s\n", what, error != 0 ? ": " : "", error != 0 ? strerror(error) : "");
}

static _Noreturn void die(const char *what, int error)
{
	dprintf(STDERR_FILENO, "offshoot-guest: FATAL: %s: %s; powering off\n", what, strerror(error));
	sync();
	reboot(RB_POWER_OFF);
	// Where power-off does not work: QEMU runs with -no-reboot, so a reset ends the machine too.
	reboot(RB_AUTOBOOT);
	_exit(1);
}

static long now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void wait_a_little(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void use_console(void)
{
	int console = open("/dev/console", O_RDWR | O_NOCTTY);
	if (console < 0)
		return;
	for (int fd = 0; fd < 3; fd++)
		dup2(console, fd);
	if (console > 2)
		close(console);
}

static void must_mount(const char *what, const char *where, const char *type, unsigned long flags, const char *options)
{
	mkdir(where, 0755);
	if (mount(what, where, type, flags, options) != 0 && errno != EBUSY)
		die(where, errno);
}

static void try_mount(const char *what, const char *where, const char *type, unsigned long flags, const char *options)
{
	mkdir(where, 0755);
	if (mount(what, where, type, flags, options) != 0)
		say(where, errno);
}

static void load_module(const char *name)
{
	char path[256];
	snprintf(path, sizeof path, "/modules/%s", name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die(path, errno);
	if (syscall(SYS_finit_module, fd, "", 0) != 0 && errno != EEXIST)
		die(path, errno);
	close(fd);
}

static void load_modules(void)
{
	static char order[8192];
	if (file_read("/modules/order", order, sizeof order) < 0) {
		if (errno != ENOENT)
			die("/modules/order", errno);
		return;
	}
	char *rest = order;
	for (char *name; (name = strtok_r(rest, " \t\n", &rest)) != NULL;)
		load_module(name);
}

static void mount_root(void)
{
	long deadline_ms = now_ms() + DEVICE_DEADLINE_MS;
	while (access(root_device, F_OK) != 0) {
		if (now_ms() > deadline_ms)
			die(root_device, ENODEV);
		wait_a_little();
	}
	mkdir("/root", 0755);
	// noatime: a read must not dirty pages, because a dirty page is no longer shared between clones.
	// lazytime: a write to an identity file in place needs no journal transaction. A refresh takes a fifth less time.
	// discard: the kernel returns the blocks of deleted files to the host after each commit of the journal.
	if (mount(root_device, "/root", "ext4", MS_NOATIME | MS_LAZYTIME, "discard") != 0)
		die("mount of the root disk", errno);
}

// The initramfs is in memory: every byte left in it would be part of every snapshot. Other file systems are skipped.
static void empty_folder(int folder, dev_t device)
{
	DIR *listing = fdopendir(folder);
	if (listing == NULL) {
		close(folder);
		return;
	}
	for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
		struct stat about;
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    fstatat(dirfd(listing), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0 || about.st_dev != device)
			continue;
		if (S_ISDIR(about.st_mode)) {
			int inner = openat(dirfd(listing), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			if (inner >= 0)
				empty_folder(inner, device);
		}
		unlinkat(dirfd(listing), entry->d_name, S_ISDIR(about.st_mode) ? AT_REMOVEDIR : 0);
	}
	closedir(listing);
}

static void switch_root(void)
{
	struct stat about;
	int old_root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (old_root < 0 || fstat(old_root, &about) != 0)
		die("/", errno);
	umount2("/proc", MNT_DETACH);
	umount2("/sys", MNT_DETACH);
	umount2("/dev", MNT_DETACH);
	empty_folder(old_root, about.st_dev);
	if (chdir("/root") != 0 || mount(".", "/", NULL, MS_MOVE, NULL) != 0 || chroot(".") != 0 || chdir("/") != 0)
		die("switch to the root disk", errno);
}

static void link_missing(const char *target, const char *path)
{
	if (symlink(target, path) != 0 && errno != EEXIST)
		say(path, errno);
}

static void mount_system(void)
{
	must_mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	must_mount("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	must_mount("devtmpfs", "/dev", "devtmpfs", MS_NOSUID, "mode=0755");
	try_mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "gid=5,mode=0620,ptmxmode=0666");
	try_mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777");
	try_mount("tmpfs", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755");
	try_mount("cgroup2", "/sys/fs/cgroup", "cgroup2", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	mkdir("/run/lock", 01777);
	mkdir("/etc", 0755);
	mkdir("/tmp", 01777);
	chmod("/tmp", 01777);
	link_missing("/proc/self/fd", "/dev/fd");
	link_missing("/proc/self/fd/0", "/dev/stdin");
	link_missing("/proc/self/fd/1", "/dev/stdout");
	link_missing("/proc/self/fd/2", "/dev/stderr");
}

static void bring_loopback_up(void)
{
	int error = interface_bring_up("lo");
	if (error != 0)
		say("loopback", error);
}

// REFRESH sets the address. IPv6 is off: nothing routes it, and neighbour discovery that a snapshot interrupted would
// go on in every restored sandbox. The write fails where the kernel has no IPv6, which is no error.
static void bring_network_up(void)
{
	file_write("/proc/sys/net/ipv6/conf/eth0/disable_ipv6", "1");
	int error = interface_bring_up("eth0");
	if (error != 0)
		say("eth0", error);
}

static void set_hostname(void)
{
	char name[65] = "offshoot";
	file_read("/etc/hostname", name, sizeof name);
	size_t name_bytes = strcspn(name, " \t\r\n");
	if (name_bytes > 0 && sethostname(name, name_bytes) != 0)
		say("host name", errno);
}

static void set_limits(void)
{
	struct rlimit files = {.rlim_cur = OPEN_FILES_SOFT, .rlim_max = OPEN_FILES_HARD};
	if (setrlimit(RLIMIT_NOFILE, &files) != 0)
		say("open files", errno);
	// As distributions set them: every user may ping, and links planted in /tmp are not followed.
	file_write("/proc/sys/net/ipv4/ping_group_range", "0 2147483647");
	// Free page reporting: return freed memory to the host in pieces of 2^7 pages. By default pieces have 2 MiB, and the
	// kernel returns none while fewer than 32 of them are free.
	file_write("/sys/module/page_reporting/parameters/page_reporting_order", "7");
	file_write("/proc/sys/fs/protected_symlinks", "1");
	file_write("/proc/sys/fs/protected_hardlinks", "1");
	umask(022);
}

// An idle guest costs the host time for each timer that fires, and there may be hundreds of them.
static void quiet_timers(void)
{
	// Statistics of memory are summed up every 10 s instead of every second; memory is compacted only when somebody needs it.
	file_write("/proc/sys/vm/stat_interval", "10");
	file_write("/proc/sys/vm/compaction_proactiveness", "0");
#if defined(__x86_64__)
	// The firmware leaves the interval timer (8254) running, which Linux does not use: QEMU wakes for it 36 times a second.
	// Mode 0 counts once. Where the ports are forbidden, it stays as it is.
	if (ioperm(0x40, 4, 1) == 0) {
		outb(0x30, 0x43);
		outb(0, 0x40);
		outb(0, 0x40);
		ioperm(0x40, 4, 0);
	}
#endif
}

void boot(void)
{
	must_mount("devtmpfs", "/dev", "devtmpfs", MS_NOSUID, "mode=0755");
	use_console();
	must_mount("proc", "/proc", "proc", 0, NULL);
	must_mount("sysfs", "/sys", "sysfs", 0, NULL);
	load_modules();
	mount_root();
	switch_root();
	mount_system();
	use_console();
	bring_loopback_up();
	bring_network_up();
	set_hostname();
	set_limits();
	quiet_timers();
}

static bool find_port(char *path, size_t room)
{
	static const char ports[] = "/sys/class/virtio-ports";
	DIR *listing = opendir(ports);
	if (listing == NULL)
		return false;
	bool found = false;
	for (struct dirent *entry; !found && (entry = readdir(listing)) != NULL;) {
		char name_path[512], name[64];
		snprintf(name_path, sizeof name_path, "%s/%s/name", ports, entry->d_name);
		if (entry->d_name[0] == '.' || file_read(name_path, name, sizeof name) < 0)
			continue;
		found = strcmp(name, "agent\n") == 0;
		if (found)
			snprintf(path, room, "/dev/%s", entry->d_name);
	}
	closedir(listing);
	return found;
}

int boot_open_port(void)
{
	long deadline_ms = now_ms() + DEVICE_DEADLINE_MS;
	char path[512];
	for (;;) {
		int fd = find_port(path, sizeof path) ? open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC) : -1;
		if (fd >= 0)
			return fd;
		if (now_ms() > deadline_ms)
			die("virtio port \"agent\"", ENODEV);
		wait_a_little();
	}
}

void boot_end(void)
{
	say("ending", 0);
	kill(-1, SIGTERM);
	long deadline_ms = now_ms() + END_GRACE_MS;
	while (waitpid(-1, NULL, WNOHANG) >= 0 && now_ms() < deadline_ms)
		wait_a_little();
	kill(-1, SIGKILL);
	sync();
	mount(NULL, "/", NULL, MS_REMOUNT | MS_RDONLY, NULL);
	reboot(RB_POWER_OFF);
	die("power off", errno);
}
