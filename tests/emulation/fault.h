/* SPDX-License-Identifier: Apache-2.0
 *
 * Ways to break every kernel that runs emulated: what a forgotten barrier or a wrong index would
 * do.
 */
#ifndef TILEWISE_TESTS_EMULATION_FAULT_H
#define TILEWISE_TESTS_EMULATION_FAULT_H

#ifdef __cplusplus
extern "C" {
#endif

enum emulation_fault {
    FAULT_NONE,
    FAULT_NO_LAUNCH,
    FAULT_NO_BARRIER,
    FAULT_SHORT_WAIT,     /* one group of copies too few is waited for */
    FAULT_NO_ZERO_FILL,   /* behind the ends of a line lies garbage */
    FAULT_WRONG_FRAGMENT, /* two of the four matrices of a load are exchanged */
    FAULT_FEWER_DIGITS,   /* products are summed in bf16 */
    FAULT_NO_LAST_TILE,
    FAULT_FIRST_BATCH_ONLY,
    FAULT_FIRST_SPLIT_ONLY,
    FAULTS
};
extern enum emulation_fault emulation_fault_now;

#ifdef __cplusplus
}
#endif
#endif
