/* SPDX-License-Identifier: Apache-2.0
 *
 * Hooks of cuBLAS's products and of cuDNN's plans, and of what handles are told. While there is
 * nothing to record, a jump to the real function: which a compiler would not make of a call with so
 * many arguments. Else a jump to hook_SYMBOL, which finds everything as the caller left it.
 *
 * The hot ones do without that for most calls. What a recorded call costs a host that does much
 * between two is lines, of code above all (hot.h). So they make the real call themselves and copy
 * its arguments twice: for the function, and into the thread's journal.
 */
#include "tracer/pass.h"

#define ROW(family, symbol, ...)  .set row_##symbol, row; .set row, row + 1;
#define BARE(family, symbol, ...) .set row, row + 1;
    .set row, 0
#include "tracer/slots.def"
#undef ROW

#if defined(__x86_64__)

#define SLOT(row, offset) slot_first + row * PASS_SLOT_BYTES + offset(%rip)

/* %rax: the real function; to `other` where that is not known for this caller, as before the first
 * call, when the range is empty. `by`: a register to use. */
.macro find_real row, other, by
    movq (%rsp), \by /* who calls */
    subq SLOT(\row, 0), \by
    cmpq SLOT(\row, PASS_SLOT_RANGE), \by
    jae \other
    movq SLOT(\row, PASS_SLOT_REAL), %rax
.endm

/* (base, index): the entry that a table has for the address in `of`, in its place or the other one
 * (other_place, behind the hook's end: the same line, but rarely asked for). short, short_of: 32 bits
 * of it. */
.macro find_entry name, table, bits, bytes_log2, of, short_of, base, index, short
    imull $PASS_NEAR_HASH, \short_of, \short
    shrl $32 - \bits, \short
    shll $\bytes_log2, \short
    leaq \table(%rip), \base
    cmpq \of, (\base,\index) /* equal: it is its own */
    jne .Lother_\table\()_\name
.Lfound_\table\()_\name:
.endm

.macro other_place name, table, bytes_log2, of, base, index, short, absent
.Lother_\table\()_\name:
    xorl $1 << \bytes_log2, \short
    cmpq \of, (\base,\index)
    je .Lfound_\table\()_\name
    jmp \absent
.endm

.macro find_handle name, base, index, short
    find_entry \name, handle_near, PASS_HANDLE_BITS, PASS_HANDLE_BYTES_LOG2, %rdi, %edi, \base, \index, \short
.endm

.macro other_handle name, base, index, short, absent
    other_place \name, handle_near, PASS_HANDLE_BYTES_LOG2, %rdi, \base, \index, \short, \absent
.endm

.macro begin name
    .globl \name
    .type \name, @function
    .balign 64
\name:
    .cfi_startproc
.endm

.macro end name
    .cfi_endproc
    .size \name, . - \name
.endm

.macro pass name, row
    begin \name
    find_real \row, 1f, %r11
    cmpl $PASS_STATE_ON, tap_state(%rip)
    jge 1f
    cmpl $0, graph_captures(%rip)
    jne 1f
    jmp *%rax
1:  jmp hook_\name
    end \name
.endm

/* Offsets in a call of the journal, from its middle: so they fit into a byte. */
#define CALL(offset) (offset) - PASS_CALL_BYTES / 2(%rbx)
#define WORD(i)      CALL(PASS_CALL_WORDS + 8 * (i))
/* The caller's i-th word on the stack, behind %rbx and the return address. */
#define STACK(i) 16 + 8 * (i)(%rsp)
#define SELF(offset) %fs:offset(%r10)

/* `stack`: words of arguments there. `launched`: is called with a call that launched something in a
 * window of GPU time. `plan`: the second argument, of three, is a plan: its number is kept too, as the
 * plan may be gone when the writer comes. */
.macro journal name, row, stack, launched, plan=0
    begin \name
    find_real \row, 7f, %r11
    .if \plan
    find_entry \name, cudnn_plans_near, PASS_PLAN_BITS, PASS_PLAN_BYTES_LOG2, %rsi, %esi, %r10, %r11, %r11d
    movq PASS_PLAN_NUMBER(%r10,%r11), %rcx
    .endif
    find_handle \name, %r10, %r11, %r11d
    movups PASS_HANDLE_STATE(%r10,%r11), %xmm0
    /* Is this thread recorded, outside of all hooks, and nothing else to be done? */
    movq tap_self_offset(%rip), %r10
    movl tap_epoch(%rip), %r11d
    xorl SELF(PASS_SELF_EPOCH), %r11d
    orb cupti_is_due(%rip), %r11b
    orl SELF(PASS_SELF_STATE), %r11d
    orl graph_captures(%rip), %r11d
    jne 6f
    movb $1, SELF(PASS_SELF_STATE) /* from here on, a signal handler's calls are dropped */
    cmpl %r11d, SELF(PASS_SELF_ROOM)
    je 5f
    pushq %rbx
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbx, 0
    movq SELF(PASS_SELF_NEXT), %rbx
    movl %r11d, SELF(PASS_SELF_GPU_CALL) /* 0 */
    subq $-PASS_CALL_BYTES / 2, %rbx
    movups %xmm0, CALL(PASS_CALL_HANDLE)
    movl $\row, CALL(PASS_CALL_SLOT)
    movq %rdi, WORD(0)
    movq %rsi, WORD(1)
    movq %rdx, WORD(2)
    movq %rcx, WORD(3)
    .if !\plan
    movq %r8, WORD(4)
    movq %r9, WORD(5)
    .endif
    movq %rax, %r11
    rdtsc
    shlq $32, %rdx
    orq %rdx, %rax
    movq %rax, CALL(0)
    movq WORD(2), %rdx
    .if \stack & 1
    pushq %rax /* for the alignment */
    .cfi_adjust_cfa_offset 8
    .endif
    /* From the last one on, which is always at the same distance from the top. A word at a time, as
     * the caller has stored them: a wider load waits until the cache has all of its words. */
    .set i, \stack
    .rept \stack
    .set i, i - 1
    movq STACK(\stack + (\stack & 1) - 1), %rax
    movq %rax, WORD(6 + i)
    pushq %rax
    .cfi_adjust_cfa_offset 8
    .endr
    callq *%r11
    .if \stack
    addq $8 * (\stack + (\stack & 1)), %rsp
    .cfi_adjust_cfa_offset -8 * (\stack + (\stack & 1))
    .endif
    movl %eax, %ecx
    rdtsc
    shlq $32, %rdx
    orq %rdx, %rax
    movq tap_self_offset(%rip), %r10
    testl %ecx, %ecx
    jne 4f
    movq SELF(PASS_SELF_NEXT), %r11
    subq $-PASS_CALL_BYTES / 2, %r11
    cmpq %rbx, %r11
    jne 2f /* forked inside: the journal was the parent's */
    movq %rax, CALL(PASS_CALL_END)
    cmpl $0, SELF(PASS_SELF_GPU_CALL)
    jne 3f
    /* Told by its number, which is stored last. A signal handler finds the recorder busy until the
     * end. */
    movl SELF(PASS_SELF_NUMBER), %eax
    incl SELF(PASS_SELF_NUMBER)
    movl %eax, CALL(PASS_CALL_NUMBER)
    subq $-PASS_CALL_BYTES / 2, %rbx
    movq %rbx, SELF(PASS_SELF_NEXT)
    decl SELF(PASS_SELF_ROOM)
    /* The writer has read what lies there: its lines are on another processor. They come while the
     * host does something else. */
    prefetchw (%rbx)
    prefetchw 64(%rbx)
    prefetchw 128(%rbx)
2:  movb $0, SELF(PASS_SELF_STATE)
    movl %ecx, %eax
    popq %rbx
    .cfi_remember_state
    .cfi_adjust_cfa_offset -8
    .cfi_restore %rbx
    ret
    .cfi_restore_state
3:  leaq -PASS_CALL_BYTES / 2(%rbx), %rdi
    callq \launched
    xorl %eax, %eax
    popq %rbx
    .cfi_remember_state
    .cfi_adjust_cfa_offset -8
    .cfi_restore %rbx
    ret
    .cfi_restore_state
4:  movl %ecx, %ebx
    movq 8(%rsp), %rdi
    callq tap_fail
    movl %ebx, %eax
    popq %rbx
    .cfi_adjust_cfa_offset -8
    .cfi_restore %rbx
    ret
5:  movb $0, SELF(PASS_SELF_STATE)
    jmp hook_\name
6:  cmpl $PASS_STATE_ON, tap_state(%rip)
    jge 7f
    cmpl $0, graph_captures(%rip)
    jne 7f
    jmp *%rax
7:  jmp hook_\name
    .if \plan
    other_place \name, cudnn_plans_near, PASS_PLAN_BYTES_LOG2, %rsi, %r10, %r11, %r11d, 6b
    .endif
    other_handle \name, %r10, %r11, %r11d, 6b
    end \name
.endm

/* A setter: if it tells what the handle's entry holds at `offset` already, a jump. One line. */
.macro setter name, row, compare, value, offset
    begin \name
    find_real \row, 1f, %rcx
    find_handle \name, %rdx, %rcx, %ecx
    \compare \value, \offset(%rdx,%rcx)
    jne 1f
    jmp *%rax
1:  jmp hook_\name
    other_handle \name, %rdx, %rcx, %ecx, 1b
    end \name
.endm

/* Of a descriptor that is no known plan: a jump. One line. */
.macro descriptor name, row
    begin \name
    find_real \row, 1f, %rcx
    imull $PASS_NEAR_HASH, %edi, %ecx
    shrl $32 - PASS_PLAN_KNOWN_BITS, %ecx
    leaq cudnn_plans_known(%rip), %rdx
    cmpb $0, (%rdx,%rcx)
    jne 1f
    jmp *%rax
1:  jmp hook_\name
    end \name
.endm

/* If it is no plan that is made, a jump. */
.macro create name, row
    begin \name
    find_real \row, 1f, %rcx
    cmpl $PASS_PLAN_TYPE, %edi
    je 1f
    jmp *%rax
1:  jmp hook_\name
    end \name
.endm

.macro other name
    begin \name
    jmp hook_\name
    end \name
.endm

#define CUBLAS_SET_STREAM_HOOK(symbol)       setter symbol, row_##symbol, cmpq, %rsi, PASS_HANDLE_STREAM;
#define CUBLAS_SET_MATH_MODE_HOOK(symbol)    setter symbol, row_##symbol, cmpw, %si, PASS_HANDLE_MODES;
#define CUBLAS_SET_POINTER_MODE_HOOK(symbol) other symbol;
#define CUBLAS_DESTROY_HOOK(symbol)          other symbol;
#define CUDNN_SET_STREAM_HOOK                CUBLAS_SET_STREAM_HOOK
#define CUDNN_DESTROY_HANDLE_HOOK            CUBLAS_DESTROY_HOOK
#define CUDNN_EXECUTE_HOOK(symbol) \
    journal symbol, row_##symbol, CUDNN_EXECUTE_STACK, cudnn_plan_launched, 1;
#define CUDNN_POPULATE_HOOK          CUBLAS_DESTROY_HOOK
#define CUDNN_CREATE_HOOK(symbol)    create symbol, row_##symbol;
#define CUDNN_FINALIZE_HOOK(symbol)  descriptor symbol, row_##symbol;
#define CUDNN_DESTROY_HOOK           CUDNN_FINALIZE_HOOK

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
    add x17, x16, #PASS_SLOT_RANGE
    ldar x10, [x17] /* first: empty before the first call */
    ldr x9, [x16]
    sub x9, x30, x9 /* who calls */
    cmp x9, x10
    b.hs 1f
    ldr x17, [x16, #PASS_SLOT_REAL]
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
#define ROW(family, symbol, ...) .text; pass symbol, row_##symbol;
#if !PASS_HAS_JOURNAL
#define HOT_ROW(family, symbol, ...) .section tilewise_text, "ax", %progbits; pass symbol, row_##symbol;
#else
#define HOT_ROW(family, symbol, ...) \
    .section tilewise_text, "ax", %progbits; \
    journal symbol, row_##symbol, family##_STACK, cublas_launched;
#endif
#include "tracer/cublas.def"
#undef ROW
#if PASS_HAS_JOURNAL
    .section tilewise_text, "ax", %progbits
#define ROW(family, symbol) family##_HOOK(symbol)
#include "tracer/cublas_state.def"
#include "tracer/cudnn_state.def"
#include "tracer/cudnn_plan.def"
#undef ROW
#endif
    .section .note.GNU-stack, "", %progbits
