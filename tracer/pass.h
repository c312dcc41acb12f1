/* SPDX-License-Identifier: Apache-2.0
 *
 * What pass_entry.S knows of slot.h and tap.h.
 */
#ifndef TILEWISE_TRACER_PASS_H
#define TILEWISE_TRACER_PASS_H

#define PASS_SLOT_BYTES 24
#define PASS_SLOT_RANGE 8
#define PASS_SLOT_REAL  16
#define PASS_STATE_ON   4 /* recording is off below it */

#endif
