// Bare-metal guests for the tests of the QEMU driver, one by each GUEST_ name:
// what a kernel in order does not do. Devices of QEMU's virt machine: a 16550
// at UART, and at TEST a register that ends the machine.
#define UART 0x10000000
#define LSR 5        // bit 0: a byte has come; bit 5: one may go
#define TEST 0x100000
#define TEST_PASS 0x5555
#define TEST_FAIL 0x3333  // the exit status is in the upper half

  .globl _start
_start:
  li s0, UART
  la sp, stack_end
  bnez a0, sleep  // one hart is enough

#ifdef GUEST_hang
  la a0, up
  call puts
  j sleep
#endif

#ifdef GUEST_silent
  j sleep
#endif

#ifdef GUEST_flood
1:la a0, up
  call puts
  j 1b
#endif

#ifdef GUEST_longline
1:li a0, 'x'
  call putc
  j 1b
#endif

#ifdef GUEST_off
  la a0, up
  call puts
  li a1, TEST_PASS
  j end
#endif

#ifdef GUEST_fail
  la a0, up
  call puts
  li a1, TEST_FAIL | (7 << 16)
  j end
#endif

#ifdef GUEST_reset
  la a0, up
  call puts
  li a1, 0x7777
  j end
#endif

#ifdef GUEST_panic
  la a0, panic
  call puts
  j sleep
#endif

#ifdef GUEST_halfpanic  // dies before the line's end
  la a0, panic
  li s2, 10
1:lbu a1, (a0)
  beq a1, s2, sleep
  mv s3, a0
  mv a0, a1
  call putc
  addi a0, s3, 1
  j 1b
#endif

#ifdef GUEST_noise  // every byte value, then a line in order
  li s2, 0
  li s3, 256
1:mv a0, s2
  call putc
  addi s2, s2, 1
  bne s2, s3, 1b
  la a0, up
  call puts
  li a1, TEST_PASS
  j end
#endif

#ifdef GUEST_lines  // 20,000 lines of 32 characters, then the end
  li s2, 20000
1:la a0, line
  call puts
  addi s2, s2, -1
  bnez s2, 1b
  la a0, up
  call puts
  li a1, TEST_PASS
  j end
#endif

#ifdef GUEST_echo  // sends back what it gets; '!' ends the machine
  la a0, up
  call puts
  li s2, '!'
1:lbu a0, LSR(s0)
  andi a0, a0, 1
  beqz a0, 1b
  lbu a0, (s0)
  beq a0, s2, 2f
  call putc
  j 1b
2:li a1, TEST_PASS
  j end
#endif

end:
  li a0, TEST
  sw a1, (a0)

sleep:
  wfi
  j sleep

puts:
  addi sp, sp, -16
  sd ra, 0(sp)
  sd s1, 8(sp)
  mv s1, a0
1:lbu a0, (s1)
  beqz a0, 2f
  call putc
  addi s1, s1, 1
  j 1b
2:ld ra, 0(sp)
  ld s1, 8(sp)
  addi sp, sp, 16
  ret

putc:
  lbu t0, LSR(s0)
  andi t0, t0, 0x20
  beqz t0, putc
  sb a0, (s0)
  ret

up: .asciz "up\r\n"
panic: .asciz "panic: out of tea\n"
line: .asciz "0123456789abcdefghijklmnopqrstuv\n"

  .balign 16
  .space 1024
stack_end:
