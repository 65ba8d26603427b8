#define PGSIZE 4096
#define PGROUNDUP(sz) (((sz) + PGSIZE - 1) & ~(PGSIZE - 1))
#define SIE 2

static inline uint64 r_sstatus()
{
  uint64 bits;
  asm volatile("csrr %0, sstatus" : "=r"(bits));
  return bits;
}

static inline void w_sstatus(uint64 bits)
{
  asm volatile("csrw sstatus, %0" : : "r"(bits));
}

static inline uint64 r_mhartid()
{
  uint64 id;
  asm volatile("csrr %0, mhartid" : "=r"(id));
  return id;
}

static inline void intr_on()
{
  w_sstatus(r_sstatus() | SIE);
}

static inline void intr_off()
{
  w_sstatus(r_sstatus() & ~SIE);
}

static inline int intr_get()
{
  return (r_sstatus() & SIE) != 0;
}

static inline uint64 r_tp()
{
  uint64 id;
  asm volatile("mv %0, tp" : "=r"(id));
  return id;
}

static inline void sfence_vma()
{
  asm volatile("sfence.vma zero, zero");
}
