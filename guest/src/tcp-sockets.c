#include "tcp-sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum {
	ANSWER_MAX_BYTES = 32 * 1024,
	ANSWER_DEADLINE_S = 1,
	// A connection that ends during a dump may hide another one. So the agent dumps until no connection is left.
	LISTS_MAX = 16,
	// Without TIME_WAIT: such a connection has no owner any more, and the kernel cannot destroy it.
	STATES = 1 << TCP_ESTABLISHED | 1 << TCP_SYN_SENT | 1 << TCP_SYN_RECV | 1 << TCP_FIN_WAIT1 | 1 << TCP_FIN_WAIT2 |
		 1 << TCP_CLOSE_WAIT | 1 << TCP_LAST_ACK | 1 << TCP_CLOSING,
};

// recv() on it fails with EAGAIN after a second. Returns -1 with errno set.
static int sock_diag_open(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	struct timeval deadline = {.tv_sec = ANSWER_DEADLINE_S};
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof deadline);
	return fd;
}

// `states` are bits, 1 << TCP_…. `id` names one socket; NULL: all. Returns 0 or an errno.
static int sock_diag_ask(int fd, uint16_t type, uint16_t flags, uint8_t family, uint32_t states, const struct inet_diag_sockid *id)
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

static bool is_loopback(uint8_t family, const uint32_t address[4])
{
	static const uint32_t six[4] = {0, 0, 0, 1};
	if (family == AF_INET)
		return (ntohl(address[0]) >> 24) == 127;
	uint32_t host[4];
	for (int i = 0; i < 4; i++)
		host[i] = ntohl(address[i]);
	bool is_mapped = host[0] == 0 && host[1] == 0 && host[2] == 0xffff;
	return memcmp(host, six, sizeof six) == 0 || (is_mapped && (host[3] >> 24) == 127);
}

static bool is_internal(const struct inet_diag_msg *connection)
{
	const struct inet_diag_sockid *id = &connection->id;
	size_t address_bytes = connection->idiag_family == AF_INET ? 4 : 16;
	return is_loopback(connection->idiag_family, id->idiag_dst) || memcmp(id->idiag_src, id->idiag_dst, address_bytes) == 0;
}

// Destroys one connection. Not an error when it has ended meanwhile.
static int destroy_one(int fd, const struct inet_diag_msg *connection)
{
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
	} answer;
	int error = sock_diag_ask(fd, SOCK_DESTROY, NLM_F_ACK, connection->idiag_family, STATES, &connection->id);
	if (error != 0)
		return error;
	if (recv(fd, &answer, sizeof answer, 0) < (ssize_t)sizeof answer)
		return EPROTO;
	return answer.error.error == -ENOENT ? 0 : -answer.error.error;
}

// Destroys the connections in one message of the dump.
static int destroy_listed(int fd, const struct nlmsghdr *head, size_t bytes, bool *is_last, size_t *ended)
{
	int error = 0;
	for (; NLMSG_OK(head, bytes) && error == 0; head = NLMSG_NEXT(head, bytes)) {
		const struct inet_diag_msg *connection = NLMSG_DATA(head);
		if (head->nlmsg_type == NLMSG_DONE)
			*is_last = true;
		else if (head->nlmsg_type == NLMSG_ERROR)
			error = -((const struct nlmsgerr *)NLMSG_DATA(head))->error;
		else if (!is_internal(connection)) {
			error = destroy_one(fd, connection);
			*ended += 1;
		}
	}
	return error;
}

// Destroys all external connections that one dump of the kernel lists.
static int destroy_once(int list_fd, int end_fd, uint8_t family, size_t *ended)
{
	static _Alignas(struct nlmsghdr) uint8_t answer[ANSWER_MAX_BYTES];
	bool is_last = false;
	int error = sock_diag_ask(list_fd, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, family, STATES, NULL);
	while (error == 0 && !is_last) {
		ssize_t got = recv(list_fd, answer, sizeof answer, 0);
		if (got <= 0)
			return got < 0 ? errno : EPROTO;
		error = destroy_listed(end_fd, (struct nlmsghdr *)answer, (size_t)got, &is_last, ended);
	}
	return error;
}

static int destroy_family(int list_fd, int end_fd, uint8_t family)
{
	int error = 0;
	size_t ended = 1;
	for (int i = 0; i < LISTS_MAX && ended > 0 && error == 0; i++) {
		ended = 0;
		error = destroy_once(list_fd, end_fd, family, &ended);
	}
	return error;
}

int tcp_sockets_reset_connections(void)
{
	int list_fd = sock_diag_open();
	int end_fd = sock_diag_open();
	int error = list_fd < 0 || end_fd < 0 ? errno : destroy_family(list_fd, end_fd, AF_INET);
	if (error == 0)
		error = destroy_family(list_fd, end_fd, AF_INET6);
	close(list_fd);
	close(end_fd);
	return error;
}

// 0.0.0.0, 127.0.0.1, ::, ::1 and their IPv4-mapped forms accept connections to 127.0.0.1 or ::1.
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

// Adds the listeners in one message of the dump.
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
	static _Alignas(struct nlmsghdr) uint8_t answer[ANSWER_MAX_BYTES];
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

int tcp_sockets_list_listeners(uint16_t ports[LISTENERS_MAX], size_t *count)
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
