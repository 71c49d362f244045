#include "listeners.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sock-diag.h"

// 0.0.0.0, 127.0.0.1, ::, ::1 and their mapped forms: what a connection from here to 127.0.0.1 or ::1 comes to.
static bool is_reachable(uint8_t family, const uint32_t address[4])
{
	if (family == AF_INET)
		return address[0] == 0 || ntohl(address[0]) == INADDR_LOOPBACK;
	uint32_t third = ntohl(address[2]), last = ntohl(address[3]);
	if (address[0] != 0 || address[1] != 0)
		return false;
	return third == 0 ? last <= 1 : third == 0xffff && (last == 0 || last == INADDR_LOOPBACK);
}

static void add(uint16_t ports[LISTENERS_MAX], size_t *count, uint16_t port)
{
	for (size_t i = 0; i < *count; i++)
		if (ports[i] == port)
			return;
	if (*count < LISTENERS_MAX)
		ports[(*count)++] = port;
}

// One piece of a list.
static int add_listed(const struct nlmsghdr *head, size_t bytes, bool *is_last, uint16_t ports[LISTENERS_MAX], size_t *count)
{
	int error = 0;
	for (; NLMSG_OK(head, bytes) && error == 0; head = NLMSG_NEXT(head, bytes)) {
		const struct inet_diag_msg *socket = NLMSG_DATA(head);
		if (head->nlmsg_type == NLMSG_DONE)
			*is_last = true;
		else if (head->nlmsg_type == NLMSG_ERROR)
			error = -((const struct nlmsgerr *)NLMSG_DATA(head))->error;
		else if (is_reachable(socket->idiag_family, socket->id.idiag_src))
			add(ports, count, ntohs(socket->id.idiag_sport));
	}
	return error;
}

static int list_family(int fd, uint8_t family, uint16_t ports[LISTENERS_MAX], size_t *count)
{
	static _Alignas(struct nlmsghdr) uint8_t answer[SOCK_DIAG_ANSWER_MAX_BYTES];
	bool is_last = false;
	int error = sock_diag_ask(fd, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, family, 1 << TCP_LISTEN, NULL);
	while (error == 0 && !is_last) {
		ssize_t got = recv(fd, answer, sizeof answer, 0);
		if (got <= 0)
			return got < 0 ? errno : EPROTO;
		error = add_listed((struct nlmsghdr *)answer, (size_t)got, &is_last, ports, count);
	}
	return error;
}

int listeners_list(uint16_t ports[LISTENERS_MAX], size_t *count)
{
	*count = 0;
	int fd = sock_diag_open();
	if (fd < 0)
		return errno;
	int error = list_family(fd, AF_INET, ports, count);
	if (error == 0)
		error = list_family(fd, AF_INET6, ports, count);
	close(fd);
	return error;
}
