/* SPDX-License-Identifier: Apache-2.0
 *
 * Scenarios of host_cudnn_plan, by theme.
 */
#ifndef TILEWISE_TESTS_HOST_CUDNN_PLAN_H
#define TILEWISE_TESTS_HOST_CUDNN_PLAN_H

#include "scenario.h"

extern const struct scenario host_cudnn_plan_lives[]; /* how plans come, are used and go */

#endif
