// What a student gets is drawn from a seed of the student's own, so that it is
// the same on every machine and in every order.
#ifndef LABGEN_LAB_SEED_H
#define LABGEN_LAB_SEED_H

#include <stddef.h>
#include <stdint.h>

#define SEED_BYTES 32

// A stream of draws. Copying the struct copies the state.
struct draws {
  unsigned char key[SEED_BYTES];
  uint64_t block;  // the next block of the stream
  unsigned char bytes[64];
  size_t left;  // of `bytes`, from its end
};

// Starts the stream for one purpose of one student of one lab:
//   key = BLAKE2b-256 keyed with BLAKE2b-256(secret), over the fields
//         "labgen-seed-1", lab, student, purpose, each after its length in
//         bytes as 8 bytes, low byte first
//   block n of the stream = ChaCha20(key, nonce = n as 8 bytes, low byte
//         first), 64 bytes
// (libsodium's crypto_generichash and crypto_stream_chacha20.) The texts are
// not kept.
void draws_start(struct draws *d, const void *secret, size_t secret_len,
                 const char *lab, const char *student, const char *purpose);

// A number from 0 to n - 1, each as likely as any other; n is at least 1 and
// at most 2^31. Takes 4 bytes of the stream, low byte first, and again 4 while
// they fall into the last, incomplete run of n numbers below 2^32.
uint32_t draw_below(struct draws *d, uint32_t n);

// A number that orders names at random, but the same way wherever the name
// stands: the first 8 bytes of BLAKE2b-256 of the name, keyed with the stream's
// key. It takes nothing from the stream.
uint64_t draw_rank(const struct draws *d, const char *name);

#endif
