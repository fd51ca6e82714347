/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/output.h"
#include "client/save.h"

/* ".NAME.XXXXXX" in the folder of path: rename() works within one file system only. */
static char *temporary_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	int folder = slash ? (int)(slash + 1 - path) : 0;
	size_t len = strlen(path) + sizeof("..XXXXXX");
	char *name = malloc(len);

	if (name)
		snprintf(name, len, "%.*s.%s.XXXXXX", folder, path, path + folder);
	return name;
}

static int open_temporary(struct save *s)
{
	mode_t mask = umask(0);

	umask(mask);
	s->temporary = temporary_name(s->path);
	if (!s->temporary)
		return -ENOMEM;
	s->fd = mkostemp(s->temporary, O_CLOEXEC);
	if (s->fd < 0) {
		int err = -errno;

		free(s->temporary);
		s->temporary = NULL;
		return err;
	}
	/* mkostemp gives 0600; what was asked for is an ordinary file. */
	fchmod(s->fd, 0666 & ~mask);
	return 0;
}

int save_open(struct save *s, const char *path)
{
	struct stat st;

	s->path = path;
	s->temporary = NULL;
	s->fd = -1;
	if (!strcmp(path, "-")) {
		s->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		return s->fd < 0 ? -errno : 0;
	}
	if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
		if (S_ISDIR(st.st_mode))
			return -EISDIR;
		s->fd = open(path, O_WRONLY | O_CLOEXEC);
		return s->fd < 0 ? -errno : 0;
	}
	return open_temporary(s);
}

int save_commit(struct save *s, const void *bytes, size_t len)
{
	int err = write_all(s->fd, bytes, len);

	if (err || !s->temporary)
		return err;
	if (fsync(s->fd) || rename(s->temporary, s->path))
		return -errno;
	free(s->temporary);
	s->temporary = NULL;
	return 0;
}

void save_close(struct save *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	if (s->temporary)
		unlink(s->temporary);
	free(s->temporary);
	s->temporary = NULL;
}
