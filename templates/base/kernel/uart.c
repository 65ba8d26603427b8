// The 16550 UART: bytes to and from the terminal.
//
// Input comes by interrupt. Output is written at once, waiting for the device:
// it takes bytes as fast as the host does.

#include "types.h"
#include "param.h"
#include "memlayout.h"
#include "riscv.h"
#include "spinlock.h"
#include "defs.h"

// Registers, by their offset. Some have two or three uses.
enum {
  DATA = 0,         // read: a byte received; write: a byte to send
  INTERRUPTS = 1,   // which events interrupt
  FIFO = 2,         // write: buffer control
  LINE = 3,         // frame format
  STATUS = 5,       // read: what is ready
  DIVISOR_LOW = 0,  // with DIVISOR_ACCESS in LINE
  DIVISOR_HIGH = 1,
};

#define RECEIVE_INTERRUPT 0x01
#define FIFO_RESET_AND_ENABLE 0x07
#define EIGHT_BITS 0x03
#define DIVISOR_ACCESS 0x80
#define RECEIVED 0x01  // STATUS: DATA holds a byte
#define SENDABLE 0x20  // STATUS: DATA takes a byte

static volatile uint8 *const uart = (volatile uint8 *)UART0;

// 38400 baud, eight bits, no parity, an interrupt for each byte received.
void uartinit(void)
{
  static const struct {
    uint8 reg, value;
  } setup[] = {
      {INTERRUPTS, 0},
      {LINE, DIVISOR_ACCESS},
      {DIVISOR_LOW, 3},
      {DIVISOR_HIGH, 0},
      {LINE, EIGHT_BITS},
      {FIFO, FIFO_RESET_AND_ENABLE},
      {INTERRUPTS, RECEIVE_INTERRUPT},
  };

  for (uint i = 0; i < NELEM(setup); i++)
    uart[setup[i].reg] = setup[i].value;
}

// Sends a byte. Any hart may call this at any time; it is the callers who see
// to it that their bytes do not mix.
void uartputc(int c)
{
  while ((uart[STATUS] & SENDABLE) == 0)
    ;
  uart[DATA] = c;
}

// The next byte received, or -1.
int uartgetc(void)
{
  return uart[STATUS] & RECEIVED ? uart[DATA] : -1;
}

// Hands what has arrived to the console.
void uartintr(void)
{
  for (int c; (c = uartgetc()) >= 0;)
    consoleintr(c);
}
