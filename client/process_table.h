/* SPDX-License-Identifier: Apache-2.0 */
/* Processes met in records, by identity (pid and start time), each with its latest resource. */
#ifndef CLIENT_PROCESS_TABLE_H
#define CLIENT_PROCESS_TABLE_H

#include "client/text.h"
#include "shm/ringside.h"

#define PROCESS_TABLE_MAX 65536

struct process_entry {
	uint64_t	 start_ns, samples;
	int64_t		 first_ns, last_ns;
	uint32_t	 pid, parent_pid;
	bool		 exited;
	bool		 has_comm_of_main;
	char		 comm[16];	/* the main thread's when it was seen, else the last seen */
	ringside_ref	 resource_ref;	/* of `resource`, on this incarnation */
	struct text	 resource;	/* rendered: JSON object or text lines */
	struct text	 service;	/* escaped for a terminal */
	struct text	 schema_url;
};

struct process_table {
	struct process_entry **slots, **sorted;
	size_t		 n, nslots;
	uint64_t	 left_out;
	bool		 json;
};

void	 process_table_init(struct process_table *t, bool json);
void	 process_table_fini(struct process_table *t);
/* A sample or a process record.  0 or -ENOMEM. */
int	 process_table_add(struct process_table *t, const struct ringside_record *rec);
/* Fills sorted[]: busiest first.  0 or -ENOMEM. */
int	 process_table_sort(struct process_table *t);

void	 process_text_head(struct text *t);
void	 process_text(struct text *t, const struct process_entry *p, bool utc);
void	 process_json(struct text *t, const struct process_entry *p);

#endif
