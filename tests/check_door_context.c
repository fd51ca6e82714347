/* SPDX-License-Identifier: Apache-2.0 */
/* A child's process context through the door. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ctx/otel_ctx_abi.h"
#include "tests/root_door.h"

#define TEXT "the payload"

/* Memory that the child has as well, so that this side can change it. */
static struct otel_ctx_header *publish_at(void *page, uint64_t stamp)
{
	struct otel_ctx_header *h = page;

	memcpy(h->signature, OTEL_CTX_SIGNATURE, OTEL_CTX_SIGNATURE_LEN);
	memcpy(h + 1, TEXT, strlen(TEXT));
	h->version = OTEL_CTX_VERSION;
	h->payload_size = (__u32)strlen(TEXT);
	h->payload = (uintptr_t)(h + 1);
	h->published_ns = stamp;
	return h;
}

static void *named_page(void)
{
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
	void *page;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, 4096), 0);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(page, MAP_FAILED);
	close(fd);
	return page;
}

static pid_t child(void)
{
	pid_t pid = fork_child();

	if (!pid)
		ready_and_wait();
	wait_ready();
	return pid;
}

static enum context_verdict verdict(const struct door_request *r)
{
	const struct answer *a = ask_wait(r);

	ck_assert_int_eq(a->head->error, 0);
	ck_assert_ptr_nonnull(a->context);
	return a->context->verdict;
}

START_TEST(the_first_reading_brings_the_context)
{
	struct otel_ctx_header *h = publish_at(named_page(), 7);
	const struct answer *a = read_process(child());

	ck_assert_int_eq(a->head->error, 0);
	ck_assert_ptr_nonnull(a->context);
	ck_assert_int_eq(a->context->verdict, CONTEXT_PAYLOAD);
	ck_assert_int_eq(a->context->name, CONTEXT_NAME_MEMFD);
	ck_assert_uint_eq(a->context->address, (uintptr_t)h);
	ck_assert_uint_eq(a->context->published_ns, 7);
	ck_assert_bytes(a, TAG_CONTEXT_PAYLOAD, TEXT);
}
END_TEST

START_TEST(who_has_none_costs_no_answer)
{
	ck_assert_ptr_null(read_process(child())->context);
}
END_TEST

START_TEST(a_known_context_is_told_by_its_stamp)
{
	struct otel_ctx_header *h = publish_at(named_page(), 7);
	struct door_request r = request(DOOR_CONTEXT, child());

	ck_assert_int_eq(verdict(&r), CONTEXT_PAYLOAD);
	r.context_address = (uintptr_t)h;
	r.context_seen_ns = 7;
	ck_assert_int_eq(verdict(&r), CONTEXT_UNCHANGED);
	h->published_ns = 0;
	ck_assert_int_eq(verdict(&r), CONTEXT_BUSY);
	h->published_ns = 8;
	ck_assert_int_eq(verdict(&r), CONTEXT_PAYLOAD);
	h->payload = 16;
	ck_assert_int_eq(verdict(&r), CONTEXT_PAYLOAD_FAULT);
	h->payload = UINT64_MAX - 4;
	ck_assert_int_eq(verdict(&r), CONTEXT_PAYLOAD_FAULT);
	memset(h->signature, 0, sizeof(h->signature));
	ck_assert_int_eq(verdict(&r), CONTEXT_SIGNATURE);
}
END_TEST

START_TEST(one_that_moved_is_found_again)
{
	struct otel_ctx_header *h = publish_at(named_page(), 7);
	struct door_request r = request(DOOR_CONTEXT, child());

	r.context_address = 4096;		/* there is nothing any more */
	r.context_seen_ns = 7;
	ck_assert_int_eq(verdict(&r), CONTEXT_PAYLOAD);
	ck_assert_uint_eq(ask_wait(&r)->context->address, (uintptr_t)h);
}
END_TEST

START_TEST(the_hooks_address_needs_no_name)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct otel_ctx_header *h = publish_at(page, 7);
	struct door_request r = request(DOOR_CONTEXT, child());

	ck_assert_int_eq(verdict(&r), CONTEXT_NONE);
	r.context_hint = (uintptr_t)h;
	ck_assert_int_eq(verdict(&r), CONTEXT_PAYLOAD);
	ck_assert_int_eq(ask_wait(&r)->context->name, CONTEXT_NAME_NONE);
	r.context_hint += 8;			/* no mapping begins there */
	ck_assert_int_eq(verdict(&r), CONTEXT_NONE);
}
END_TEST

void add_context_tests(TCase *tc)
{
	tcase_add_test(tc, the_first_reading_brings_the_context);
	tcase_add_test(tc, who_has_none_costs_no_answer);
	tcase_add_test(tc, a_known_context_is_told_by_its_stamp);
	tcase_add_test(tc, one_that_moved_is_found_again);
	tcase_add_test(tc, the_hooks_address_needs_no_name);
}
