// The platform-level interrupt controller: says which device wants attention,
// and to which hart (RISC-V PLIC specification; "virt" gives each hart two
// contexts, machine mode first).

#include "types.h"
#include "param.h"
#include "memlayout.h"
#include "riscv.h"
#include "spinlock.h"
#include "defs.h"

#define SUPERVISOR(hart) (2 * (hart) + 1)

static volatile uint32 *reg(uint64 offset)
{
  return (volatile uint32 *)(PLIC + offset);
}

static volatile uint32 *priority(int irq)
{
  return reg(4 * irq);
}

static volatile uint32 *enable(int hart, int irq)
{
  return reg(0x2000 + 0x80 * SUPERVISOR(hart) + irq / 32 * 4);
}

static volatile uint32 *threshold(int hart)
{
  return reg(0x200000 + 0x1000 * SUPERVISOR(hart));
}

// Reading takes the next request, writing it back says that it is dealt with.
static volatile uint32 *claim(int hart)
{
  return threshold(hart) + 1;
}

// Lets the devices in. Once.
void plicinit(void)
{
  *priority(UART0_IRQ) = 1;
}

// Lets them interrupt this hart. Any hart may serve any device.
void plicinithart(void)
{
  *enable(cpuid(), UART0_IRQ) |= 1 << UART0_IRQ % 32;
  *threshold(cpuid()) = 0;
}

// The number of a device that wants attention, which no other hart will be
// given until plic_complete; 0 if there is none (any more).
int plic_claim(void)
{
  return *claim(cpuid());
}

// The device has been served.
void plic_complete(int irq)
{
  *claim(cpuid()) = irq;
}
