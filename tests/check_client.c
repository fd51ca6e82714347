/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "tests/client_records.h"

int main(void)
{
	SRunner *sr = srunner_create(suite_text());
	int failed;

	/* Local times in golden outputs. */
	setenv("TZ", "UTC-2", 1);
	srunner_add_suite(sr, suite_format());
	srunner_add_suite(sr, suite_options());
	srunner_add_suite(sr, suite_profile());
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
