/* SPDX-License-Identifier: Apache-2.0 */
/* Targets and requests for the tests of the door. */
#ifndef ROOT_DOOR_H
#define ROOT_DOOR_H

#include <check.h>
#include <sys/types.h>

#include "sidecar/labels/labels.h"
#include "sidecar/process/target.h"

#define N(t) (sizeof(t) / sizeof((t)[0]))

extern struct door *door;
void	door_open_fixture(void);	/* a door, and a folder of the test's own */
void	door_close_fixture(void);	/* ends children, removes the folder, sees that no descriptor is left */

const char *folder(void);
const char *path_of(const char *name);	/* in the folder; valid until the next call but two */
const char *copy_of_self(const char *name, char tail);	/* an executable that ends with the byte tail */
void	copy_file(const char *from, const char *to, char tail);
void	remove_tree(void);
int	last_byte(int fd);

/* --- children: each ends with the test --- */
pid_t	fork_child(void);		/* 0 in the child, which calls ready_and_wait() in the end */
void	tell_ready(void);
void	ready_and_wait(void) __attribute__((noreturn));
void	wait_ready(void);
pid_t	spawn(const char *path, const char *mode, char *const env[]);
pid_t	spawn_idle(const char *name);	/* copy_of_self(name, 'A'), waiting */
void	end_child(pid_t pid);
pid_t	child_of(pid_t pid);		/* its only one; 0 none */

/* --- requests --- */
struct door_request request(enum door_ask ask, pid_t pid);
struct door_request file_request(pid_t pid, const struct answer_map *m, const char *path);
/* The answers below are valid until the next one. */
const struct answer *ask_wait(const struct door_request *r);
const struct answer *next_answer(void);
const struct answer *read_process(pid_t pid);
int	take_fd(void);			/* of the last answer, or -1 */
/* Opens what m maps; 0 and its last byte, or the answer's error. */
int	open_mapped(pid_t pid, const struct answer_map *m, char *tail);
const struct answer_map *find_map(const struct answer *a, const char *path);
const struct answer_map *find_exec_of(const struct answer *a, const char *base_name);
void	ck_assert_bytes(const struct answer *a, enum answer_tag tag, const char *want);

void	add_extra_tests(TCase *tc);	/* root_door_extra.c */
void	add_context_tests(TCase *tc);	/* check_door_context.c */

#endif
