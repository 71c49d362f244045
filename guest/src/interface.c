#include "interface.h"

#include <errno.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static struct ifreq named(const char *name)
{
	struct ifreq request = {0};
	snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
	return request;
}

static int ask(unsigned long what, struct ifreq *request)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return errno;
	int error = ioctl(fd, what, request) != 0 ? errno : 0;
	close(fd);
	return error;
}

int interface_bring_up(const char *name)
{
	struct ifreq request = named(name);
	int error = ask(SIOCGIFFLAGS, &request);
	if (error != 0)
		return error;
	request.ifr_flags |= IFF_UP;
	return ask(SIOCSIFFLAGS, &request);
}

int interface_set_mac(const char *name, const uint8_t mac[MAC_BYTES])
{
	struct ifreq request = named(name);
	request.ifr_hwaddr.sa_family = ARPHRD_ETHER;
	memcpy(request.ifr_hwaddr.sa_data, mac, MAC_BYTES);
	return ask(SIOCSIFHWADDR, &request);
}
