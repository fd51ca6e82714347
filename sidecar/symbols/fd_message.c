/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "sidecar/symbols/fd_message.h"

union control { char buf[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; };

int fd_message_send(int sock, const struct iovec *iov, size_t n_iov, int fd, int flags)
{
	union control control = { .buf = { 0 } };
	struct msghdr m = { .msg_iov = (struct iovec *)iov, .msg_iovlen = n_iov };

	if (fd >= 0) {
		struct cmsghdr *c;

		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	return sendmsg(sock, &m, flags | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

ssize_t fd_message_receive(int sock, void *buf, size_t cap, int *fd, int flags)
{
	union control control;
	struct iovec iov = { buf, cap };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(sock, &m, flags | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c;

	*fd = -1;
	if (n < 0)
		return -errno;
	c = CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(*fd)))
		memcpy(fd, CMSG_DATA(c), sizeof(*fd));
	return n;
}
