#include "refresh.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/random.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bytes.h"
#include "environment.h"
#include "file.h"
#include "interface.h"
#include "protocol.h"
#include "tcp-sockets.h"

static int set_clock(uint64_t time_ns)
{
	struct timespec time = {.tv_sec = (time_t)(time_ns / 1000000000), .tv_nsec = (long)(time_ns % 1000000000)};
	return clock_settime(CLOCK_REALTIME, &time) != 0 ? errno : 0;
}

static int add_entropy(const uint8_t *bytes, size_t count)
{
	struct {
		int entropy_bits;
		int bytes;
		uint8_t pool[ENTROPY_MAX_BYTES];
	} pool = {.entropy_bits = (int)count * 8, .bytes = (int)count};
	memcpy(pool.pool, bytes, count);
	int fd = open("/dev/urandom", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	int error = 0;
	// RNDADDENTROPY alone does not reseed. Until the kernel's next reseed two VMs from one snapshot would then draw the
	// same numbers.
	if (ioctl(fd, RNDADDENTROPY, &pool) != 0 || ioctl(fd, RNDRESEEDCRNG) != 0)
		error = errno;
	close(fd);
	return error;
}

static const char *path_under(const char *root, const char *path)
{
	static char full[PATH_MAX];
	snprintf(full, sizeof full, "%s%s", root, path);
	return full;
}

// The file cannot exist: a part of its path is a file, a dangling link, or a link to itself.
static bool is_path_missing(int error)
{
	return error == ENOTDIR || error == ENOENT || error == ELOOP;
}

static bool is_regular_file(const char *path)
{
	struct stat about;
	return lstat(path, &about) == 0 && S_ISREG(about.st_mode);
}

static int write_machine_id(const char *root, const char *machine_id)
{
	char line[MACHINE_ID_BYTES + 2];
	int line_bytes = snprintf(line, sizeof line, "%s\n", machine_id);
	int error = file_replace(path_under(root, "/etc/machine-id"), line, (size_t)line_bytes);
	if (error == 0 && is_regular_file(path_under(root, "/var/lib/dbus/machine-id")))
		error = file_replace(path_under(root, "/var/lib/dbus/machine-id"), line, (size_t)line_bytes);
	return error;
}

// Debian maps the host's own name to 127.0.1.1. All other lines stay.
static int write_hosts(const char *root, const char *hostname)
{
	static char old[64 * 1024], new[64 * 1024 + 128];
	ssize_t old_bytes = file_read(path_under(root, "/etc/hosts"), old, sizeof old);
	if (old_bytes < 0 && errno != ENOENT)
		return errno;
	if (old_bytes == (ssize_t)sizeof old - 1)
		return EFBIG;
	if (old_bytes < 0)
		snprintf(old, sizeof old, "127.0.0.1\tlocalhost\n::1\tlocalhost\n");

	size_t used = 0;
	for (const char *line = old; *line != '\0';) {
		size_t line_bytes = strcspn(line, "\n");
		if (strncmp(line, "127.0.1.1", 9) != 0 || (line[9] != ' ' && line[9] != '\t')) {
			memcpy(new + used, line, line_bytes);
			used += line_bytes;
			new[used++] = '\n';
		}
		line += line_bytes + (line[line_bytes] == '\n');
	}
	used += (size_t)snprintf(new + used, sizeof new - used, "127.0.1.1\t%s\n", hostname);
	return file_replace(path_under(root, "/etc/hosts"), new, used);
}

static int write_hostname(const char *root, const char *hostname)
{
	char line[HOSTNAME_MAX_BYTES + 2];
	int line_bytes = snprintf(line, sizeof line, "%s\n", hostname);
	return file_replace(path_under(root, "/etc/hostname"), line, (size_t)line_bytes);
}

// The names that OpenSSH and dropbear use. Listing their folders would take a just restored guest longer.
static const char *const host_keys[] = {
	"/etc/ssh/ssh_host_rsa_key",         "/etc/ssh/ssh_host_rsa_key.pub",
	"/etc/ssh/ssh_host_ecdsa_key",       "/etc/ssh/ssh_host_ecdsa_key.pub",
	"/etc/ssh/ssh_host_ed25519_key",     "/etc/ssh/ssh_host_ed25519_key.pub",
	"/etc/ssh/ssh_host_dsa_key",         "/etc/ssh/ssh_host_dsa_key.pub",
	"/etc/dropbear/dropbear_rsa_host_key",     "/etc/dropbear/dropbear_ecdsa_host_key",
	"/etc/dropbear/dropbear_ed25519_host_key", "/etc/dropbear/dropbear_dss_host_key",
};
enum { HOST_KEYS = sizeof host_keys / sizeof *host_keys };

// The host answers DNS queries at the gateway's address.
static int write_name_server(const char *root, const uint8_t gateway[IPV4_BYTES])
{
	char line[sizeof "nameserver 255.255.255.255\n"];
	int line_bytes =
	    snprintf(line, sizeof line, "nameserver %d.%d.%d.%d\n", gateway[0], gateway[1], gateway[2], gateway[3]);
	return file_replace(path_under(root, "/etc/resolv.conf"), line, (size_t)line_bytes);
}

static int remove_host_keys(const char *root)
{
	for (size_t i = 0; i < HOST_KEYS; i++)
		if (unlink(path_under(root, host_keys[i])) != 0 && !is_path_missing(errno))
			return errno;
	return 0;
}

// Resets connections after the old address is gone and before the new route exists, so that no packet of theirs leaves
// the machine.
static struct refreshed refresh_interface(const struct refresh_request *request)
{
	static const char name[] = "eth0";
	int error = request->has_mac ? interface_set_mac(name, request->mac) : 0;
	if (error != 0)
		return (struct refreshed){error, "mac"};
	if (request->has_address && (error = interface_set_address(name, &request->address)) != 0)
		return (struct refreshed){error, "address"};
	error = tcp_sockets_reset_connections();
	if (error != 0 || !request->has_address)
		return (struct refreshed){error, "connections"};
	return (struct refreshed){interface_set_gateway(name, request->address.gateway), "route"};
}

static struct refreshed refresh_system(const struct refresh_request *request)
{
	int error = set_clock(request->time_ns);
	if (error != 0)
		return (struct refreshed){error, "clock"};
	if (sethostname(request->hostname, strlen(request->hostname)) != 0)
		return (struct refreshed){errno, "hostname"};
	return (struct refreshed){add_entropy(request->entropy, request->entropy_bytes), "entropy"};
}

// The /etc of an image may be read-only even for root, or may be a file or a dangling link. Not an error: the sandboxes
// of such an image share its files.
static int ignore_read_only(int error)
{
	return error == EROFS || error == EPERM || is_path_missing(error) ? 0 : error;
}

static struct refreshed refresh_files(const char *root, const struct refresh_request *request)
{
	int error = ignore_read_only(write_machine_id(root, request->machine_id));
	if (error != 0)
		return (struct refreshed){error, "machine id"};
	error = ignore_read_only(write_hosts(root, request->hostname));
	if (error != 0)
		return (struct refreshed){error, "hosts"};
	error = ignore_read_only(write_hostname(root, request->hostname));
	if (error != 0)
		return (struct refreshed){error, "hostname file"};
	if (request->has_address && (error = ignore_read_only(write_name_server(root, request->address.gateway))) != 0)
		return (struct refreshed){error, "name server"};
	return (struct refreshed){ignore_read_only(remove_host_keys(root)), "host keys"};
}

struct refreshed refresh_time(const struct refresh_target *target, const uint8_t *message, size_t message_bytes)
{
	enum { TIME_BYTES = 8 };
	if (message_bytes < TIME_BYTES + ENTROPY_MIN_BYTES || message_bytes > TIME_BYTES + ENTROPY_MAX_BYTES)
		return (struct refreshed){EINVAL, "request"};
	if (!target->is_system)
		return (struct refreshed){0, NULL};
	int error = set_clock(read_u64(message));
	if (error != 0)
		return (struct refreshed){error, "clock"};
	return (struct refreshed){add_entropy(message + TIME_BYTES, message_bytes - TIME_BYTES), "entropy"};
}

void refresh_prepare(const struct refresh_target *target)
{
	static const char *const files[] = {"/etc/machine-id", "/var/lib/dbus/machine-id", "/etc/hosts", "/etc/hostname",
					    "/etc/resolv.conf", "/etc/passwd", "/etc/group"};
	static char contents[64 * 1024];
	if (target->root == NULL)
		return;
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		file_read(path_under(target->root, files[i]), contents, sizeof contents);
	for (size_t i = 0; i < HOST_KEYS; i++)
		access(path_under(target->root, host_keys[i]), F_OK);
}

struct refreshed refresh_begin(const struct refresh_target *target, const struct refresh_request *request)
{
	struct refreshed done = {0, NULL};
	if (target->is_system)
		done = refresh_system(request);
	if (done.error == 0 && !request->keeps_env && !environment_set(request->env, request->env_bytes, request->env_count))
		done = (struct refreshed){ENOMEM, "environment"};
	return done;
}

struct refreshed refresh_finish(const struct refresh_target *target, const struct refresh_request *request)
{
	struct refreshed done = {0, NULL};
	if (target->is_system)
		done = refresh_interface(request);
	if (done.error == 0 && target->root != NULL)
		done = refresh_files(target->root, request);
	return done;
}
