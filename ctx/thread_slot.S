/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The word of each thread that readers look for, and how this library reaches it.
 *
 * 	otel_thread_ctx_v1	0	address of the attached record, or 0: public
 * 	otelctx_thread_entry	8	struct thread_entry of thread_slot.h: private
 *
 * Both in one section of one object, so they stay together: who has the address of the
 * first has the second, unless another module's definition of the public symbol took
 * precedence (thread_registry.c).
 *
 * In assembler, because the access has to be by TLS descriptor, whatever compiler and
 * options: clang 14 knows no descriptors on x86-64, gcc needs an option for them.  In
 * an executable the linker turns the sequences below, which have to be exactly these,
 * into a constant offset.
 */

/*
 * How the word is named when it is reached.  In a shared library by the public symbol, for
 * readers that look for its relocation, and so that all writers of a process share one word
 * (thread_slot_shared.S).  In an executable by a name that is not exported: GNU ld would leave
 * a relocation for the other, which the startup code of static-pie programs does not know.
 */
#ifdef OTELCTX_SHARED
#define SLOT otel_thread_ctx_v1
#else
#define SLOT own_slot
#endif

	.section .tbss, "awT", %nobits
	.balign	8
	.globl	otel_thread_ctx_v1
	.type	otel_thread_ctx_v1, %object
	.size	otel_thread_ctx_v1, 8
otel_thread_ctx_v1:
own_slot:
	.zero	8
	.type	own_slot, %object
	.globl	otelctx_thread_entry
	.hidden	otelctx_thread_entry
	.type	otelctx_thread_entry, %object
	.size	otelctx_thread_entry, 32
otelctx_thread_entry:
	.zero	32

	.text
#if defined(__x86_64__)

/*
 * void *NAME(void): where SYMBOL of this thread is.  The descriptor's function saves
 * all but rax.
 */
.macro	address_of name, symbol
	.globl	\name
	.hidden	\name
	.type	\name, %function
	.p2align 4
\name:
	.cfi_startproc
	subq	$8, %rsp		/* aligned, as for any call */
	.cfi_adjust_cfa_offset 8
	leaq	\symbol@tlsdesc(%rip), %rax
	call	*\symbol@tlscall(%rax)
	addq	%fs:0, %rax
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size	\name, .-\name
.endm
	address_of otelctx_slot, SLOT
	address_of otelctx_entry, otelctx_thread_entry

/*
 * int otelctx_thread_attach(t).  The one store that counts is the movq to (%rax).  t->holder
 * is this slot: so the entry stands behind it, and its state may be looked at.
 */
	.globl	otelctx_thread_attach
	.type	otelctx_thread_attach, %function
	.p2align 5
otelctx_thread_attach:
	.cfi_startproc
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	SLOT@tlsdesc(%rip), %rax
	call	*SLOT@tlscall(%rax)
	addq	%fs:0, %rax
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	xorl	%edx, %edx
	testq	%rdi, %rdi
	jz	1f			/* detach */
	cmpq	%rax, 8(%rdi)		/* t->holder */
	jne	2f
	cmpq	$1, 8(%rax)		/* THREAD_REGISTERED */
	jne	2f
	movq	(%rdi), %rdx		/* t->record */
1:	movq	%rdx, (%rax)
	xorl	%eax, %eax
	ret
2:	movq	%rax, %rsi
	jmp	otelctx_attach_slowly
	.cfi_endproc
	.size	otelctx_thread_attach, .-otelctx_thread_attach
	.hidden	otelctx_attach_slowly

#elif defined(__aarch64__)

.macro	address_of name, symbol
	.globl	\name
	.hidden	\name
	.type	\name, %function
	.p2align 4
\name:
	.cfi_startproc
	stp	x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 29, -16
	.cfi_offset 30, -8
	adrp	x0, :tlsdesc:\symbol
	ldr	x1, [x0, #:tlsdesc_lo12:\symbol]
	add	x0, x0, #:tlsdesc_lo12:\symbol
	.tlsdesccall \symbol
	blr	x1
	mrs	x1, tpidr_el0
	add	x0, x0, x1
	ldp	x29, x30, [sp], #16
	.cfi_restore 29
	.cfi_restore 30
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size	\name, .-\name
.endm
	address_of otelctx_slot, SLOT
	address_of otelctx_entry, otelctx_thread_entry

/* int otelctx_thread_attach(t), as above. */
	.globl	otelctx_thread_attach
	.type	otelctx_thread_attach, %function
	.p2align 4
otelctx_thread_attach:
	.cfi_startproc
	stp	x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 29, -16
	.cfi_offset 30, -8
	mov	x2, x0			/* the descriptor's function leaves it alone */
	adrp	x0, :tlsdesc:SLOT
	ldr	x1, [x0, #:tlsdesc_lo12:SLOT]
	add	x0, x0, #:tlsdesc_lo12:SLOT
	.tlsdesccall SLOT
	blr	x1
	mrs	x1, tpidr_el0
	add	x1, x0, x1
	ldp	x29, x30, [sp], #16
	.cfi_restore 29
	.cfi_restore 30
	.cfi_def_cfa_offset 0
	mov	x3, xzr
	cbz	x2, 1f			/* detach */
	ldr	x4, [x2, #8]		/* t->holder */
	cmp	x4, x1
	b.ne	2f
	ldr	x4, [x1, #8]
	cmp	x4, #1			/* THREAD_REGISTERED */
	b.ne	2f
	ldr	x3, [x2]		/* t->record */
1:	str	x3, [x1]
	mov	w0, wzr
	ret
2:	mov	x0, x2
	b	otelctx_attach_slowly
	.cfi_endproc
	.size	otelctx_thread_attach, .-otelctx_thread_attach
	.hidden	otelctx_attach_slowly

#else
#error "OTEP 4947 names x86-64 and aarch64 only"
#endif
	.section .note.GNU-stack, "", %progbits
