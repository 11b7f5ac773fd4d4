/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TOOL_BUDGET_H
#define KOLK_TOOL_BUDGET_H

/* A bound on the memory that jansson takes: a text of three bytes an element can
 * make it take a hundred times its own size. For one thread. */

#include <stdbool.h>
#include <stddef.h>

/* From here on jansson may hold `bytes`, and fails beyond. */
void kolk_budget_set(size_t bytes);

/* Whether it asked for more since then. */
bool kolk_budget_is_spent(void);

#endif
