/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TESTS_CHILD_H
#define KOLK_TESTS_CHILD_H

/* Code run in a child of fork(), for what is about forks and what may kill. */

#include <stdbool.h>

/* The child ended by itself and `body` said true. */
bool child_succeeds(bool (*body)(void));

/* The child was ended by abort(), as a failed assertion does. */
bool child_aborts(bool (*body)(void));

#endif
