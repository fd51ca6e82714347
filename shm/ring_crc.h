/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crc32c, four bits at a time: for 16 KiB of status once a second and for records whose
 * flag asks for it, which no writer of ours sets.  Small beats fast here.
 */
#ifndef RING_CRC_H
#define RING_CRC_H

#include <stddef.h>
#include <stdint.h>

static inline uint32_t ring_crc32c(const void *data, size_t len)
{
	const uint8_t *p = data;
	uint32_t table[16], crc = ~0u;

	for (uint32_t i = 0; i < 16; i++) {
		uint32_t c = i;

		for (int k = 0; k < 4; k++)
			c = c >> 1 ^ (c & 1 ? 0x82f63b78u : 0);
		table[i] = c;
	}
	for (size_t i = 0; i < len; i++) {
		crc = crc >> 4 ^ table[(crc ^ p[i]) & 15];
		crc = crc >> 4 ^ table[(crc ^ (uint32_t)(p[i] >> 4)) & 15];
	}
	return ~crc;
}

#endif
