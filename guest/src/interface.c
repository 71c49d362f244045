#include "interface.h"

#include <errno.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <net/route.h>
#include <netinet/in.h>
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

static int ask(unsigned long what, void *request)
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

static struct sockaddr as_socket_address(const uint8_t address[IPV4_BYTES])
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct sockaddr out;
	memcpy(&in.sin_addr, address, IPV4_BYTES);
	memcpy(&out, &in, sizeof out);
	return out;
}

int interface_set_address(const char *name, const struct interface_address *to)
{
	struct ifreq request = named(name);
	request.ifr_mtu = to->mtu;
	int error = ask(SIOCSIFMTU, &request);
	if (error != 0)
		return error;
	request.ifr_addr = as_socket_address(to->address);
	error = ask(SIOCSIFADDR, &request);
	if (error != 0)
		return error;
	uint32_t mask = htonl(UINT32_MAX << (32 - to->prefix_bits));
	request.ifr_netmask = as_socket_address((const uint8_t *)&mask);
	return ask(SIOCSIFNETMASK, &request);
}

int interface_set_gateway(const char *name, const uint8_t gateway[IPV4_BYTES])
{
	static const uint8_t everywhere[IPV4_BYTES];
	char device[IFNAMSIZ];
	snprintf(device, sizeof device, "%s", name);
	struct rtentry route = {
		.rt_dst = as_socket_address(everywhere),
		.rt_genmask = as_socket_address(everywhere),
		.rt_gateway = as_socket_address(gateway),
		.rt_flags = RTF_UP | RTF_GATEWAY,
		.rt_dev = device,
	};
	int error = ask(SIOCADDRT, &route);
	return error == EEXIST ? 0 : error;
}
