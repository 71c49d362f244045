#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "builtins/builtins.h"

// One direction: what was read and is not written yet.
struct lane {
	int from, to;
	bool ended; // nothing more comes from `from`
	size_t start, end;
	uint8_t bytes[32 * 1024];
};

// A server may listen on either loopback address.
static int dial(uint16_t port)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&v4, sizeof v4) == 0)
		return fd;
	int error = errno;
	close(fd);
	fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&v6, sizeof v6) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	errno = error;
	return -1;
}

static bool is_pause(void)
{
	return errno == EAGAIN || errno == EINTR;
}

// False when the connection is broken.
static bool move(struct lane *lane, short from_events, short to_events)
{
	if (from_events != 0) {
		ssize_t got = read(lane->from, lane->bytes, sizeof lane->bytes);
		if (got < 0 && !is_pause())
			return false;
		lane->ended = got == 0;
		lane->start = 0;
		lane->end = got > 0 ? (size_t)got : 0;
	}
	if (to_events != 0) {
		ssize_t put = write(lane->to, lane->bytes + lane->start, lane->end - lane->start);
		if (put < 0 && !is_pause())
			return false;
		lane->start += put > 0 ? (size_t)put : 0;
	}
	return true;
}

// Until the server has said its last. Our end of file is passed on, and its answers still come.
static bool carry(int server)
{
	static struct lane out, in;
	out = (struct lane){.from = STDIN_FILENO, .to = server};
	in = (struct lane){.from = server, .to = STDOUT_FILENO};
	bool is_shut = false;
	while (!in.ended || in.start < in.end) {
		bool out_holds = out.start < out.end, in_holds = in.start < in.end;
		if (out.ended && !out_holds && !is_shut) {
			shutdown(server, SHUT_WR);
			is_shut = true;
		}
		struct pollfd fds[] = {
			{.fd = out_holds || out.ended ? -1 : out.from, .events = POLLIN},
			{.fd = out_holds ? out.to : -1, .events = POLLOUT},
			{.fd = in_holds || in.ended ? -1 : in.from, .events = POLLIN},
			{.fd = in_holds ? in.to : -1, .events = POLLOUT},
		};
		if (poll(fds, 4, -1) < 0)
			continue;
		// A server that takes nothing more may still have something to say.
		if (!move(&out, fds[0].revents, fds[1].revents)) {
			out.ended = is_shut = true;
			out.start = out.end = 0;
		}
		if (!move(&in, fds[2].revents, fds[3].revents))
			return false;
	}
	return true;
}

int builtin_connect(char *const *argv)
{
	char *end;
	unsigned long port = strtoul(argv[0], &end, 10);
	if (*end != '\0' || port < 1 || port > UINT16_MAX)
		return builtin_fail("port", EINVAL);
	signal(SIGPIPE, SIG_IGN);
	int server = dial((uint16_t)port);
	if (server < 0)
		return builtin_fail("connect", errno);
	const int fds[] = {STDIN_FILENO, STDOUT_FILENO, server};
	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
		fcntl(fds[i], F_SETFL, fcntl(fds[i], F_GETFL) | O_NONBLOCK);
	return carry(server) ? 0 : builtin_fail("connection", errno);
}
