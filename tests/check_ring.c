/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "tests/ring_fixture.h"

int main(void)
{
	SRunner *s = srunner_create(records_suite());
	int failed;

	srunner_add_suite(s, loss_suite());
	srunner_add_suite(s, dict_suite());
	srunner_add_suite(s, restart_suite());
	srunner_add_suite(s, resume_suite());
	srunner_add_suite(s, files_suite());
	srunner_add_suite(s, reading_suite());
	srunner_add_suite(s, status_suite());
	srunner_add_suite(s, hostile_suite());
	srunner_run_all(s, CK_ENV);
	failed = srunner_ntests_failed(s);
	srunner_free(s);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
