/* SPDX-License-Identifier: Apache-2.0
 *
 * What pass_entry.S knows of slot.h, tap.h, handle.h and journal.h, which hold these against their
 * structures, and of the argument lists of cublas.h.
 */
#ifndef TILEWISE_TRACER_PASS_H
#define TILEWISE_TRACER_PASS_H

/* Does it write calls to journals, and are hooks its own that begin with what it can tell? */
#if defined(__x86_64__)
#define PASS_HAS_JOURNAL  1
#define PASS_NAME(symbol) hook_##symbol
#else
#define PASS_HAS_JOURNAL  0
#define PASS_NAME(symbol) symbol
#endif

#define PASS_SLOT_BYTES 24
#define PASS_SLOT_RANGE 8
#define PASS_SLOT_REAL  16
#define PASS_STATE_ON   4 /* recording is off below it */

#define PASS_SELF_EPOCH    8
#define PASS_SELF_STATE    12 /* 4 bytes: not 0 in a call, in a phase, or without a record */
#define PASS_SELF_GPU_CALL 20
#define PASS_SELF_ROOM     36
#define PASS_SELF_NEXT     48
#define PASS_SELF_NUMBER   56

#define PASS_NEAR_HASH 0x9e3779b1 /* of an address that is found at a glance */

#define PASS_HANDLE_BITS       4
#define PASS_HANDLE_BYTES_LOG2 5
#define PASS_HANDLE_STREAM     8
#define PASS_HANDLE_STATE      16
#define PASS_HANDLE_MODES      24 /* the math mode is its lowest 16 bits */

#define PASS_PLAN_TYPE       5 /* cuDNN's number of a plan among the descriptors */
#define PASS_PLAN_KNOWN_BITS 11
#define PASS_PLAN_BITS       6
#define PASS_PLAN_BYTES_LOG2 4
#define PASS_PLAN_NUMBER     8

#define PASS_CALL_BYTES  256
#define PASS_CALL_END    8
#define PASS_CALL_HANDLE 16
#define PASS_CALL_SLOT   32
#define PASS_CALL_NUMBER 36
#define PASS_CALL_WORDS  40

/* How many arguments of a family come on the stack, where six come in registers. */
#define CUBLAS_GEMM_EX_STACK         13
#define CUBLAS_GEMM_STRIDED_EX_STACK 17
#define CUBLAS_GEMM_STACK            8
#define CUBLAS_GEMM_STRIDED_STACK    12
#define CUDNN_EXECUTE_STACK          0

/* The word that has a plan's number: of an argument that executions do not have. */
#define PASS_PLAN_WORD 3

#endif
