/* The runtime of compiled models, an archive, as bytes of the compiler. */
    .section .rodata
    .global gnnc_embedded_runtime
    .global gnnc_embedded_runtime_end
    .balign 16
gnnc_embedded_runtime:
    .incbin GNNC_RUNTIME_ARCHIVE
gnnc_embedded_runtime_end:
    .byte 0
    .section .note.GNU-stack,"",@progbits
