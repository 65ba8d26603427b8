# Made by the Makefile: the files that are there at boot (fs.h).
.section .rodata
.balign 8
.globl imagefiles
imagefiles:
        .dword 1f, 2f, 3f
.pushsection .rodata.image
1:      .asciz "cat"
        .balign 8
2:      .incbin "kernel/image/cat"
3:      .balign 8
.popsection
        .dword 1f, 2f, 3f
.pushsection .rodata.image
1:      .asciz "echo"
        .balign 8
2:      .incbin "kernel/image/echo"
3:      .balign 8
.popsection
        .dword 1f, 2f, 3f
.pushsection .rodata.image
1:      .asciz "forktest"
        .balign 8
2:      .incbin "kernel/image/forktest"
3:      .balign 8
.popsection
        .dword 1f, 2f, 3f
.pushsection .rodata.image
1:      .asciz "grep"
        .balign 8
2:      .incbin "kernel/image/grep"
3:      .balign 8
.popsection
        .dword 1f, 2f, 3f
.pushsection .rodata.image
1:      .asciz "grind"
        .balign 8
2:      .incbin "kernel/image/grind"
3:      .balign 8
.popsection
        .dword 1f, 2f, 3f
.pushsection .rodata.image
1:      .asciz "init"
        .balign 8
2:      .incbin "kernel/image/init"
3:      .balign 8
.popsection
        .dword 1f, 2f, 3f
.pushsection .rodata.image
1:      .asciz "kill"
        .balign 8
2:      .incbin "kernel/image/kill"
3:      .balign 8
.popsection
        .dword 1f, 2f, 3f
.pushsection .rodata.image
1:      .asciz "ln"
        .balign 8
2:      .incbin "kernel/image/ln"
3:      .balign 8
.popsection
        .dword 1f, 2f, 3f
.pushsection .rodata.image
1:      .asciz "ls"
        .balign 8
2:      .incbin "kernel/image/ls"
3:      .balign 8
.popsection
        .dword 1f, 2f, 3f
.pushsection .rodata.image
1:      .asciz "mkdir"
        .balign 8
2:      .incbin "kernel/image/mkdir"
3:      .balign 8
.popsection
        .dword 1f, 2f, 3f
.pushsection .rodata.image
1:      .asciz "rm"
        .balign 8
2:      .incbin "kernel/image/rm"
3:      .balign 8
.popsection
        .dword 1f, 2f, 3f
.pushsection .rodata.image
1:      .asciz "sh"
        .balign 8
2:      .incbin "kernel/image/sh"
3:      .balign 8
.popsection
        .dword 1f, 2f, 3f
.pushsection .rodata.image
1:      .asciz "stressfs"
        .balign 8
2:      .incbin "kernel/image/stressfs"
3:      .balign 8
.popsection
        .dword 1f, 2f, 3f
.pushsection .rodata.image
1:      .asciz "usertests"
        .balign 8
2:      .incbin "kernel/image/usertests"
3:      .balign 8
.popsection
        .dword 1f, 2f, 3f
.pushsection .rodata.image
1:      .asciz "wc"
        .balign 8
2:      .incbin "kernel/image/wc"
3:      .balign 8
.popsection
        .dword 0, 0, 0
