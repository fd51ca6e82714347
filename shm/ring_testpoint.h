/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a test may stop or kill the writer: between any two stores that somebody else can
 * see.  Nothing in an ordinary build.  libringside-writer-faulty.la has the same sources
 * with RING_TESTPOINTS; the program that links it defines ring_testpoint().
 */
#ifndef RING_TESTPOINT_H
#define RING_TESTPOINT_H

void ring_testpoint(const char *name);

#ifdef RING_TESTPOINTS
#define RING_TESTPOINT(name)	ring_testpoint(name)
#else
#define RING_TESTPOINT(name)	((void)0)
#endif

#endif
