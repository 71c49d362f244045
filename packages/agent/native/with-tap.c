/*
 * with-tap NAME FD PROGRAM ARGUMENT...: runs a program that inherits an existing TAP as a descriptor.
 *
 * QEMU's user can then have no access to /dev/net/tun, which on some systems is root's alone, and to no TAP but its own.
 * JavaScript has no ioctl. The flags are what QEMU wants: no header of the driver's, but that of virtio-net.
 */
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int fail(const char *what)
{
	perror(what);
	return 127;
}

int main(int count, char **arguments)
{
	struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR};

	if (count < 4 || strlen(arguments[1]) >= IFNAMSIZ)
		return 127;
	memcpy(request.ifr_name, arguments[1], strlen(arguments[1]) + 1);
	int tap = open("/dev/net/tun", O_RDWR);
	if (tap < 0)
		return fail("/dev/net/tun");
	if (ioctl(tap, TUNSETIFF, &request) != 0)
		return fail(arguments[1]);
	int wanted = atoi(arguments[2]);
	if (dup2(tap, wanted) < 0)
		return fail(arguments[2]);
	if (tap != wanted)
		close(tap);
	execvp(arguments[3], arguments + 3);
	return fail(arguments[3]);
}
