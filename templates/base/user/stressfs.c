// stressfs [-n WORD] [processes [rounds]]
//
// Several processes use the file system at the same time. Each writes a file of
// its own in pieces, gives it a second name, takes the first away, and reads it
// back; all the while each also writes its records into one file that all
// share. In the end every byte must be where it was written, and no file stays
// behind.

#include "kernel/types.h"
#include "kernel/fcntl.h"
#include "kernel/stat.h"
#include "user/user.h"

#define SHARED "stress.all"
#define PIECE 512  // bytes written at once
#define PIECES 12  // in a file
#define MAX_PROCESSES 20

static const char *prefix;
static char piece[PIECE];

static int failed(const char *what, const char *path)
{
  printf("%sstressfs: FAILED: %s %s\n", prefix, what, path);
  return 1;
}

// Fills piece[] with what stands in this place of a file, and nowhere else:
// every four bytes tell whose they are, of which round, and from where.
static void fill(int who, int round, int index)
{
  for (int i = 0; i < PIECE; i += 4) {
    piece[i] = who;
    piece[i + 1] = round;
    piece[i + 2] = index;
    piece[i + 3] = i / 4;
  }
}

static int matches(const char *read_back, int who, int round, int index)
{
  fill(who, round, index);
  return memcmp(read_back, piece, PIECE) == 0;
}

// The first or the second name of a process's own file.
static const char *name_of(int who, int second)
{
  static char names[2][sizeof "stress.a1"];
  char *name = strcpy(names[second], "stress.a1");

  name[7] += who;
  name[8] += second;
  return name;
}

static int write_file(const char *path, int who, int round)
{
  int fd = open(path, O_WRONLY | O_CREATE | O_TRUNC);

  if (fd < 0)
    return failed("cannot create", path);
  for (int i = 0; i < PIECES; i++) {
    fill(who, round, i);
    if (write(fd, piece, PIECE) != PIECE)
      return failed("cannot write", path);
  }
  close(fd);
  return 0;
}

static int check_file(const char *path, int who, int round)
{
  static char back[PIECE];
  struct stat st;
  int fd = open(path, O_RDONLY);

  if (fd < 0)
    return failed("cannot open", path);
  if (fstat(fd, &st) < 0 || st.size != PIECE * PIECES || st.nlink != 1)
    return failed("wrong size or number of names:", path);
  for (int i = 0; i < PIECES; i++)
    if (read(fd, back, PIECE) != PIECE || !matches(back, who, round, i))
      return failed("wrong content in", path);
  if (read(fd, back, 1) != 0)
    return failed("no end in", path);
  close(fd);
  return 0;
}

// One process: rounds over a file of its own. The shared file was opened before
// the fork, so all of them write behind each other. Returns its exit status.
static int work(int who, int rounds, int shared)
{
  const char *first = name_of(who, 0);
  const char *second = name_of(who, 1);

  for (int round = 0; round < rounds; round++) {
    if (write_file(first, who, round))
      return 1;
    if (link(first, second) < 0)
      return failed("cannot link", second);
    if (unlink(first) < 0)
      return failed("cannot unlink", first);
    if (check_file(second, who, round))
      return 1;
    if (unlink(second) < 0)
      return failed("cannot unlink", second);
    if (open(second, O_RDONLY) >= 0)
      return failed("still there:", second);
    fill(who, round, 0);
    if (write(shared, piece, PIECE) != PIECE)
      return failed("cannot write", SHARED);
  }
  return 0;
}

// The records in the shared file: in any order, but each process's own in the
// order of its rounds, none missing, none torn.
static int check_shared(int processes, int rounds)
{
  static char record[PIECE];
  int done[MAX_PROCESSES] = {0};
  int fd = open(SHARED, O_RDONLY);

  if (fd < 0)
    return failed("cannot open", SHARED);
  for (int left = processes * rounds; left > 0; left--) {
    int who = 0;
    if (read(fd, record, PIECE) != PIECE)
      return failed("too short:", SHARED);
    while (who < processes && !matches(record, who, done[who], 0))
      who++;
    if (who == processes)
      return failed("wrong content in", SHARED);
    done[who]++;
  }
  if (read(fd, record, 1) != 0)
    return failed("too long:", SHARED);
  close(fd);
  return 0;
}

// Starts the processes and waits for them. Returns 1 if one failed.
static int run(int processes, int rounds)
{
  int result = 0;
  int started;
  int shared = open(SHARED, O_RDWR | O_CREATE | O_TRUNC);

  if (shared < 0)
    return failed("cannot create", SHARED);
  for (started = 0; started < processes; started++) {
    int pid = fork();
    if (pid == 0)
      exit(work(started, rounds, shared));
    if (pid < 0) {
      result = failed("cannot fork", "");
      break;
    }
  }
  close(shared);
  while (started-- > 0) {
    int status = 1;
    wait(&status);
    result |= status != 0;
  }
  return result;
}

int main(int argc, char **argv)
{
  int processes, rounds, result;

  prefix = line_prefix(&argc, argv);
  processes = argc > 1 ? atoi(argv[1]) : 4;
  rounds = argc > 2 ? atoi(argv[2]) : 20;
  if (argc > 3 || processes < 1 || processes > MAX_PROCESSES || rounds < 1) {
    fprintf(2, "usage: stressfs [-n WORD] [processes (1 to %d) [rounds]]\n",
            MAX_PROCESSES);
    return 1;
  }
  result = run(processes, rounds);
  if (result == 0)
    result = check_shared(processes, rounds);
  unlink(SHARED);
  for (int i = 0; i < 2 * processes; i++)
    unlink(name_of(i / 2, i % 2));
  printf("%sstressfs: %d processes x %d rounds\n", prefix, processes, rounds);
  printf("%sstressfs: %s\n", prefix, result ? "FAILED" : "OK");
  return result;
}
