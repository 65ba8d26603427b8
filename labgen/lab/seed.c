// Draws from keyed hashes. The vectors in tests/test-lab-seed.c pin every
// value: changing a byte here changes every student's kernel.
#include "labgen/lab/seed.h"

#include <sodium.h>
#include <string.h>

static void store64(unsigned char *to, uint64_t value)
{
  for (int i = 0; i < 8; i++)
    to[i] = (unsigned char)(value >> (8 * i));
}

static void add_field(crypto_generichash_state *state, const char *text)
{
  unsigned char len[8];
  store64(len, strlen(text));
  crypto_generichash_update(state, len, sizeof(len));
  crypto_generichash_update(state, (const unsigned char *)text, strlen(text));
}

void draws_start(struct draws *d, const void *secret, size_t secret_len,
                 const char *lab, const char *student, const char *purpose)
{
  unsigned char key[SEED_BYTES];
  crypto_generichash_state state;
  crypto_generichash(key, sizeof(key), secret, secret_len, NULL, 0);
  crypto_generichash_init(&state, key, sizeof(key), SEED_BYTES);
  add_field(&state, "labgen-seed-1");
  add_field(&state, lab);
  add_field(&state, student);
  add_field(&state, purpose);
  memset(d, 0, sizeof(*d));
  crypto_generichash_final(&state, d->key, sizeof(d->key));
  sodium_memzero(key, sizeof(key));
}

static uint32_t next32(struct draws *d)
{
  if (d->left < 4) {
    unsigned char nonce[8];
    store64(nonce, d->block++);
    crypto_stream_chacha20(d->bytes, sizeof(d->bytes), nonce, d->key);
    d->left = sizeof(d->bytes);
  }
  const unsigned char *p = d->bytes + sizeof(d->bytes) - d->left;
  d->left -= 4;
  return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
         (uint32_t)p[3] << 24;
}

uint32_t draw_below(struct draws *d, uint32_t n)
{
  uint64_t end = (UINT64_C(1) << 32) / n * n;  // of the last whole run
  uint32_t value;
  do {
    value = next32(d);
  } while (value >= end);
  return value % n;
}

uint64_t draw_rank(const struct draws *d, const char *name)
{
  unsigned char hash[32];
  uint64_t rank = 0;
  crypto_generichash(hash, sizeof(hash), (const unsigned char *)name,
                     strlen(name), d->key, sizeof(d->key));
  for (int i = 7; i >= 0; i--)
    rank = rank << 8 | hash[i];
  return rank;
}
