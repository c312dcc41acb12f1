/* SPDX-License-Identifier: Apache-2.0
 *
 * Hooks of cuBLAS's products. While there is nothing to record, a jump to the real function: which a
 * compiler would not make of a call with so many arguments. Else a jump to hook_SYMBOL, which finds
 * everything as the caller left it.
 */
#include "tracer/pass.h"

#define ROW(family, symbol, ...)  .set row_##symbol, row; .set row, row + 1;
#define BARE(family, symbol, ...) .set row, row + 1;
    .set row, 0
#include "tracer/slots.def"
#undef ROW

#if defined(__x86_64__)

.macro pass name, row
    .globl \name
    .type \name, @function
    .balign 64
\name:
    .cfi_startproc
    endbr64
    movq slot_first + \row * PASS_SLOT_BYTES + PASS_SLOT_REAL(%rip), %rax
    testq %rax, %rax
    je 1f
    movq (%rsp), %r11 /* who calls */
    subq slot_first + \row * PASS_SLOT_BYTES(%rip), %r11
    cmpq slot_first + \row * PASS_SLOT_BYTES + PASS_SLOT_RANGE(%rip), %r11
    jae 1f
    cmpl $PASS_STATE_ON, tap_state(%rip)
    jge 1f
    cmpl $0, graph_captures(%rip)
    jne 1f
    jmp *%rax
1:  jmp hook_\name
    .cfi_endproc
    .size \name, . - \name
.endm

#elif defined(__aarch64__)

.macro pass name, row
    .globl \name
    .type \name, @function
    .balign 64
\name:
    .cfi_startproc
    hint #34 /* bti c */
    adrp x16, slot_first + \row * PASS_SLOT_BYTES
    add x16, x16, :lo12:slot_first + \row * PASS_SLOT_BYTES
    add x17, x16, #PASS_SLOT_REAL
    ldar x17, [x17]
    cbz x17, 1f
    ldp x9, x10, [x16] /* low, range */
    sub x9, x30, x9 /* who calls */
    cmp x9, x10
    b.hs 1f
    adrp x9, tap_state
    ldr w9, [x9, :lo12:tap_state]
    adrp x10, graph_captures
    ldr w10, [x10, :lo12:graph_captures]
    cmp w9, #PASS_STATE_ON
    ccmp w10, #0, #0, lt
    b.ne 1f
    mov x16, x17
    br x16
1:  b hook_\name
    .cfi_endproc
    .size \name, . - \name
.endm

#else
#error "a product's hook needs a tail jump for this processor"
#endif

/* Linked first: the section begins with a page. */
    .section tilewise_text, "ax", %progbits
    .balign 4096
#define ROW(family, symbol, ...)     .text; pass symbol, row_##symbol;
#define HOT_ROW(family, symbol, ...) .section tilewise_text, "ax", %progbits; pass symbol, row_##symbol;
#include "tracer/cublas.def"
    .section .note.GNU-stack, "", %progbits
