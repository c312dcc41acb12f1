/* SPDX-License-Identifier: Apache-2.0
 *
 * Hooks of the bare names (sgemm, saxpy, ...). Any program may have a function of that name with
 * other parameters, so that nothing of ours may look at them before we know whose it is: keep every
 * argument register, ask slot_bare where to go, jump there.
 */
#define ROW(family, symbol, ...)  .set row, row + 1;
#define BARE(family, symbol, ...) bare symbol; .set row, row + 1;

#if defined(__x86_64__)

.macro bare name
    .globl \name
    .type \name, @function
\name:
    .cfi_startproc
    endbr64
    pushq $row
    .cfi_adjust_cfa_offset 8
    jmp bare_common
    .cfi_endproc
    .size \name, . - \name
.endm

    .text
    .type bare_common, @function
bare_common: /* 0(%rsp): the row, 8(%rsp): who calls */
    .cfi_startproc
    .cfi_def_cfa_offset 16
    subq $192, %rsp
    .cfi_adjust_cfa_offset 192
    movq %rdi, 0(%rsp)
    movq %rsi, 8(%rsp)
    movq %rdx, 16(%rsp)
    movq %rcx, 24(%rsp)
    movq %r8, 32(%rsp)
    movq %r9, 40(%rsp)
    movq %rax, 48(%rsp)
    movups %xmm0, 56(%rsp)
    movups %xmm1, 72(%rsp)
    movups %xmm2, 88(%rsp)
    movups %xmm3, 104(%rsp)
    movups %xmm4, 120(%rsp)
    movups %xmm5, 136(%rsp)
    movups %xmm6, 152(%rsp)
    movups %xmm7, 168(%rsp)
    movq 192(%rsp), %rdi
    movq 200(%rsp), %rsi
    call slot_bare
    movq %rax, %r11
    movq 0(%rsp), %rdi
    movq 8(%rsp), %rsi
    movq 16(%rsp), %rdx
    movq 24(%rsp), %rcx
    movq 32(%rsp), %r8
    movq 40(%rsp), %r9
    movq 48(%rsp), %rax
    movups 56(%rsp), %xmm0
    movups 72(%rsp), %xmm1
    movups 88(%rsp), %xmm2
    movups 104(%rsp), %xmm3
    movups 120(%rsp), %xmm4
    movups 136(%rsp), %xmm5
    movups 152(%rsp), %xmm6
    movups 168(%rsp), %xmm7
    addq $200, %rsp
    .cfi_adjust_cfa_offset -200
    jmp *%r11
    .cfi_endproc
    .size bare_common, . - bare_common

#elif defined(__aarch64__)

.macro bare name
    .globl \name
    .type \name, @function
\name:
    .cfi_startproc
    hint #34 /* bti c */
    mov w16, #row
    b bare_common
    .cfi_endproc
    .size \name, . - \name
.endm

    .text
    .type bare_common, @function
bare_common: /* w16: the row, x30: who calls */
    .cfi_startproc
    stp x29, x30, [sp, #-224]!
    .cfi_def_cfa_offset 224
    .cfi_offset x29, -224
    .cfi_offset x30, -216
    stp x0, x1, [sp, #16]
    stp x2, x3, [sp, #32]
    stp x4, x5, [sp, #48]
    stp x6, x7, [sp, #64]
    str x8, [sp, #80]
    stp q0, q1, [sp, #96]
    stp q2, q3, [sp, #128]
    stp q4, q5, [sp, #160]
    stp q6, q7, [sp, #192]
    mov w0, w16
    mov x1, x30
    bl slot_bare
    mov x16, x0
    ldp x0, x1, [sp, #16]
    ldp x2, x3, [sp, #32]
    ldp x4, x5, [sp, #48]
    ldp x6, x7, [sp, #64]
    ldr x8, [sp, #80]
    ldp q0, q1, [sp, #96]
    ldp q2, q3, [sp, #128]
    ldp q4, q5, [sp, #160]
    ldp q6, q7, [sp, #192]
    ldp x29, x30, [sp], #224
    .cfi_restore x29
    .cfi_restore x30
    .cfi_def_cfa_offset 0
    br x16
    .cfi_endproc
    .size bare_common, . - bare_common

#else
#error "bare names need their argument registers kept on this processor"
#endif

    .set row, 0
#include "tracer/slots.def"
    .section .note.GNU-stack, "", %progbits
