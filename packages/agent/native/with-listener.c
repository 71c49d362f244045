/*
 * with-listener ADDRESS PORT FD PROGRAM ARGUMENT...: runs a program that inherits a socket which listens at an IPv4 address.
 *
 * A socket belongs to the network namespace in which it was made. The program then enters another one, and still serves clients of
 * this one. Node.js would accept connections on such a socket before it passes it on.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* As many as Node.js asks for. */
#define BACKLOG 511

static int fail(const char *what)
{
	perror(what);
	return 127;
}

int main(int count, char **arguments)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	int listener = socket(AF_INET, SOCK_STREAM, 0), yes = 1, wanted;

	if (count < 5 || inet_pton(AF_INET, arguments[1], &address.sin_addr) != 1)
		return 127;
	address.sin_port = htons((in_port_t)atoi(arguments[2]));
	if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0)
		return fail("socket");
	if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, BACKLOG) != 0)
		return fail(arguments[2]);
	wanted = atoi(arguments[3]);
	if (dup2(listener, wanted) < 0)
		return fail(arguments[3]);
	if (listener != wanted)
		close(listener);
	execvp(arguments[4], arguments + 4);
	return fail(arguments[4]);
}
