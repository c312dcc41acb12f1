/* SPDX-License-Identifier: Apache-2.0
 *
 * dlsym and dlvsym: keep the arguments, ask where to go, jump there. See dl.h for why a compiler's
 * call will not do.
 */
#if defined(__x86_64__)

.macro entry name, route
    .globl \name
    .type \name, @function
\name:
    .cfi_startproc
    endbr64
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    pushq %rdx
    .cfi_adjust_cfa_offset 8
    movq 24(%rsp), %rdx /* who calls */
    call \route
    popq %rdx
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    jmp *%rax
    .cfi_endproc
    .size \name, . - \name
.endm

#elif defined(__aarch64__)

.macro entry name, route
    .globl \name
    .type \name, @function
\name:
    .cfi_startproc
    hint #34 /* bti c */
    stp x29, x30, [sp, #-48]!
    .cfi_def_cfa_offset 48
    .cfi_offset x29, -48
    .cfi_offset x30, -40
    stp x0, x1, [sp, #16]
    str x2, [sp, #32]
    mov x2, x30 /* who calls */
    bl \route
    mov x16, x0
    ldp x0, x1, [sp, #16]
    ldr x2, [sp, #32]
    ldp x29, x30, [sp], #48
    .cfi_restore x29
    .cfi_restore x30
    .cfi_def_cfa_offset 0
    br x16
    .cfi_endproc
    .size \name, . - \name
.endm

#else
#error "dlsym needs a tail jump for this processor"
#endif

    .text
    entry dlsym, dl_route
    entry dlvsym, dl_vroute
    .section .note.GNU-stack, "", %progbits
