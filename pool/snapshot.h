/* SPDX-License-Identifier: MIT */
#ifndef KOLK_POOL_SNAPSHOT_H
#define KOLK_POOL_SNAPSHOT_H

#include "image.h"

/* The format's version: a reader refuses a file whose version is higher than its
 * own. Keys may be added without raising it. */
enum { KOLK_SNAPSHOT_VERSION = 1 };

/* Writes `image` to `path`, whole or not at all. IO names the path and the
 * system's reason; a file that was there before is then untouched. */
kolk_status kolk_pool_image_write(const kolk_pool_image *image, const char *path);

#endif
