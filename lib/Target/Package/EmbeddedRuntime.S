/* The runtime of compiled models and stubs of glibc's libraries, archives, as bytes of the compiler. */
    .macro embed name, file
    .section .rodata
    .balign 16
\name:
    .incbin "\file"
\name\()_end:
    .byte 0
    .section .data.rel.ro,"aw",%progbits
    .quad \name, \name\()_end
    .endm

    .section .data.rel.ro,"aw",%progbits
    .balign 16
    .global gnnc_embedded
gnnc_embedded: /* in the order of cpu::Architecture, as struct Embedded of SharedObject.cpp */
    embed x86_64_runtime, X86_64_RUNTIME
    embed x86_64_stubs, X86_64_STUBS
    embed aarch64_runtime, AARCH64_RUNTIME
    embed aarch64_stubs, AARCH64_STUBS
    .section .note.GNU-stack,"",%progbits
