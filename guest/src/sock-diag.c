#include "sock-diag.h"

#include <errno.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/time.h>

enum { ANSWER_DEADLINE_S = 1 };

int sock_diag_open(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	struct timeval deadline = {.tv_sec = ANSWER_DEADLINE_S};
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof deadline);
	return fd;
}

int sock_diag_ask(int fd, uint16_t type, uint16_t flags, uint8_t family, uint32_t states, const struct inet_diag_sockid *id)
{
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 request;
	} message = {
		.head = {.nlmsg_len = sizeof message, .nlmsg_type = type, .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags)},
		.request = {.sdiag_family = family, .sdiag_protocol = IPPROTO_TCP, .idiag_states = states},
	};
	if (id != NULL)
		message.request.id = *id;
	return send(fd, &message, sizeof message, 0) < 0 ? errno : 0;
}
