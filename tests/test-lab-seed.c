// Seeds: the vectors that hold every student's kernels fixed.
#include <criterion/criterion.h>
#include <sodium.h>
#include <string.h>

#include "labgen/lab/seed.h"

static struct draws start(const char *secret, const char *lab,
                          const char *student, const char *purpose)
{
  struct draws d;
  cr_assert_geq(sodium_init(), 0);
  draws_start(&d, secret, strlen(secret), lab, student, purpose);
  return d;
}

// Made by tests/seed-vectors.py from the formulas in labgen/lab/seed.h, with
// Python's hashlib and a ChaCha20 written from RFC 8439.
Test(seed, the_stream_is_the_one_of_the_vectors)
{
  static const uint32_t want[] = {2121467785, 901831988, 2111260699,
                                  1036968786, 562744989, 795932840,
                                  2047394297, 1617601445};
  struct draws d =
      start("a secret for the vectors", "percpu-kalloc", "ada", "bugs");
  for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
    while (i == 4 && d.left > 8)  // on to the end of the first block
      draw_below(&d, 2);
    uint32_t got = draw_below(&d, UINT32_C(1) << 31);
    cr_expect_eq(got, want[i], "draw %zu: %u", i, got);
  }
  cr_expect_eq(draw_rank(&d, "kalloc"), UINT64_C(0x307a609e6b236196));
}

Test(seed, each_field_counts_and_none_runs_into_the_next)
{
  struct draws base = start("secret", "lab", "ada", "bugs");
  struct draws others[] = {
      start("Secret", "lab", "ada", "bugs"),
      start("secret", "lab2", "ada", "bugs"),
      start("secret", "lab", "adA", "bugs"),
      start("secret", "lab", "ada", "bug"),
      start("secret", "laba", "da", "bugs"),
      start("secret", "lab", "adab", "ugs"),
  };
  for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
    cr_expect_neq(memcmp(base.key, others[i].key, SEED_BYTES), 0, "row %zu", i);
}

Test(seed, draws_lie_below_their_bound_and_are_even)
{
  struct draws d = start("secret", "lab", "ada", "bugs");
  size_t counts[7] = {0};
  for (int i = 0; i < 70000; i++) {
    uint32_t n = draw_below(&d, 7);
    cr_assert_lt(n, 7);
    counts[n]++;
  }
  // The stream is fixed, so this is too; 10,000 each, deviation about 93.
  for (int i = 0; i < 7; i++)
    cr_expect(counts[i] > 9600 && counts[i] < 10400, "%d: %zu", i, counts[i]);
  cr_expect_eq(draw_below(&d, 1), 0);
}

Test(seed, a_rank_takes_nothing_from_the_stream)
{
  struct draws a = start("secret", "lab", "ada", "bugs"), b = a;
  draw_rank(&a, "kfree");
  cr_expect_eq(draw_below(&a, 1000), draw_below(&b, 1000));
  cr_expect_neq(draw_rank(&a, "kfree"), draw_rank(&a, "kalloc"));
}
