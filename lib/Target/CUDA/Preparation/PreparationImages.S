/* The compiled kernels that prepare graphs, as bytes of the compiler (PreparationFile.h). */
    .section .rodata
    .global gnnc_compiled_preparation
    .global gnnc_compiled_preparation_end
    .balign 16
gnnc_compiled_preparation:
    .incbin GNNC_PREPARATION_FILE
gnnc_compiled_preparation_end:
    .byte 0
    .section .note.GNU-stack,"",@progbits
