// Tests of names and folders: paths, links, removing, and many processes at
// the same names.

#include "user/usertests.h"

static int type_of(const char *path)
{
  struct stat st;

  return stat(path, &st) < 0 ? -1 : st.type;
}

static int inode_of(const char *path)
{
  struct stat st;

  IS(stat(path, &st), 0);
  return st.ino;
}

// Counts the names in a folder that begin with a letter other than a dot.
static int count_names(const char *path)
{
  struct dirent entry;
  int count = 0;
  int fd = opened(path, O_RDONLY);

  while (read(fd, &entry, sizeof entry) == sizeof entry)
    count += entry.inum != 0 && entry.name[0] != '.';
  close(fd);
  return count;
}

// All ways to write down the way to a place lead there.
static void paths(void)
{
  IS(mkdir("ut-p"), 0);
  IS(mkdir("ut-p/q"), 0);
  make_file("/ut-p/q/file", 100, 1);
  const char *same[] = {"ut-p/q/file",        "/ut-p/q/file",
                        "//ut-p///q//file",   "./ut-p/./q/./file",
                        "ut-p/q/../q/file",   "/../../ut-p/q/file",
                        "ut-p/../ut-p/q/file"};
  for (int i = 0; i < COUNT(same); i++)
    IS(inode_of(same[i]), inode_of("ut-p/q/file"));
  IS(inode_of("ut-p/q/.."), inode_of("ut-p"));
  IS(inode_of("/.."), inode_of("/"));
  IS(inode_of("ut-p/q/"), inode_of("ut-p/q"));

  const char *wrong[] = {"ut-p/x/file", "ut-p/q/file/x", "ut-p/q/file/..", "",
                         "nowhere/.."};
  for (int i = 0; i < COUNT(wrong); i++) {
    concerning(wrong[i], i);
    IS(open(wrong[i], O_RDONLY), -1);
    IS(chdir(wrong[i]), -1);
    IS(unlink(wrong[i]), -1);
    IS(link(wrong[i], "ut-new"), -1);
  }
  IS(unlink("ut-p/q/file"), 0);
  IS(unlink("ut-p/q"), 0);
  IS(unlink("ut-p"), 0);
}

// A file is no folder, for any call that needs one.
static void file_as_folder(void)
{
  make_file("ut-f", 10, 1);
  IS(chdir("ut-f"), -1);
  IS(open("ut-f/x", O_RDONLY), -1);
  IS(open("ut-f/x", O_CREATE), -1);
  IS(mkdir("ut-f/x"), -1);
  IS(mknod("ut-f/x", 1, 1), -1);
  IS(unlink("ut-f/x"), -1);
  IS(link("/echo", "ut-f/x"), -1);
  IS(mkdir("ut-f"), -1);
  IS(unlink("ut-f"), 0);
}

// Names have a longest length. Longer ones are cut to it, and then are the same
// name: there must be no two of them, and nothing beyond the entry is written.
static void long_names(void)
{
  make_file("ut-fourteen--A", 10, 1);
  make_file("ut-fourteen--B", 20, 2);
  IS(inode_of("ut-fourteen--A-and-more"), inode_of("ut-fourteen--A"));
  CHECK(inode_of("ut-fourteen--A") != inode_of("ut-fourteen--B"));
  IS(mkdir("ut-fourteen--B-too"), -1);
  IS(unlink("ut-fourteen--A-and-more"), 0);
  IS(open("ut-fourteen--A", O_RDONLY), -1);
  IS(unlink("ut-fourteen--B"), 0);
}

// Only an empty folder can be removed, and never by its dots.
static void remove_folder(void)
{
  IS(mkdir("ut-r"), 0);
  IS(mkdir("ut-r"), -1);
  IS(mkdir("ut-r/s"), 0);
  IS(unlink("ut-r"), -1);
  const char *dots[] = {"ut-r/.", "ut-r/..", "ut-r/s/..", ".", "..", "/"};
  for (int i = 0; i < COUNT(dots); i++) {
    concerning(dots[i], i);
    IS(unlink(dots[i]), -1);
  }
  IS(link("ut-r", "ut-link"), -1);  // and has one name only
  IS(unlink("ut-r/s"), 0);
  IS(unlink("ut-r"), 0);
  IS(type_of("ut-r"), -1);
}

// A folder that a process is in may be removed. The process can leave, and
// make nothing there.
static void removed_cwd(void)
{
  IS(mkdir("ut-cwd"), 0);
  IS(chdir("ut-cwd"), 0);
  IS(unlink("../ut-cwd"), 0);
  IS(open("file", O_CREATE), -1);
  IS(mkdir("folder"), -1);
  IS(link("/echo", "echo"), -1);
  IS(open("file", O_RDONLY), -1);
  IS(chdir("/"), 0);
  IS(type_of("ut-cwd"), -1);
}

static void leave_in_removed(long i)
{
  char *name = numbered("ut-cwd", i);

  IS(mkdir(name), 0);
  IS(chdir(name), 0);
  IS(unlink(numbered("../ut-cwd", i)), 0);
  if (i % 2)
    chdir("/nowhere");
}

// Ending there gives the folder back. More folders than there are inodes.
static void removed_cwd_exit(void)
{
  for (int i = 0; i < NINODE + 50; i++)
    IS(fate(leave_in_removed, i), 0);
}

// Folders in folders in folders, in and out again.
static void deep(void)
{
  enum { DEPTH = 40 };

  IS(mkdir("ut-deep"), 0);
  IS(chdir("ut-deep"), 0);
  for (int i = 0; i < DEPTH; i++) {
    IS(mkdir("d"), 0);
    IS(chdir("d"), 0);
  }
  make_file("bottom", 10, 1);
  IS(unlink("bottom"), 0);
  for (int i = 0; i < DEPTH; i++) {
    IS(chdir(".."), 0);
    IS(unlink("d"), 0);
  }
  IS(chdir("/"), 0);
  IS(unlink("ut-deep"), 0);
}

// A folder with many names: each is found, and places of removed ones are used
// again.
static void many_names(void)
{
  enum { NAMES = 300 };

  IS(mkdir("ut-many"), 0);
  IS(chdir("ut-many"), 0);
  make_file("file", 10, 1);
  for (int i = 0; i < NAMES; i++)
    IS(link("file", numbered("n", i)), 0);
  IS(count_names("."), NAMES + 1);
  struct stat before, after;
  IS(stat(".", &before), 0);
  for (int i = 0; i < NAMES; i += 3)
    IS(unlink(numbered("n", i)), 0);
  for (int i = 0; i < NAMES; i++)
    IS(type_of(numbered("n", i)), i % 3 ? T_FILE : -1);
  for (int i = 0; i < NAMES; i += 3)
    IS(link("file", numbered("m", i)), 0);
  IS(stat(".", &after), 0);
  IS(after.size, before.size);
  IS(stat("file", &after), 0);
  IS(after.nlink, NAMES + 1);
  for (int i = 0; i < NAMES; i++)
    IS(unlink(numbered(i % 3 ? "n" : "m", i)), 0);
  IS(unlink("file"), 0);
  IS(chdir("/"), 0);
  IS(unlink("ut-many"), 0);
}

// What a link may join, and what it may not.
static void links(void)
{
  make_file("ut-l1", 50, 1);
  IS(link("ut-l1", "ut-l1"), -1);
  IS(link("ut-l1", "/echo"), -1);
  IS(link("ut-none", "ut-l2"), -1);
  IS(link("ut-l1", "ut-none/l2"), -1);
  IS(link("ut-l1", "."), -1);
  IS(link(".", "ut-l2"), -1);
  IS(link("ut-l1", "ut-l2"), 0);
  IS(unlink("ut-l1"), 0);
  int fd = opened("ut-l2", O_RDONLY);
  IS(read(fd, buffer, 100), 50);
  CHECK(filled(buffer, 50, 0, 1));
  IS(unlink("ut-l2"), 0);
}

// Several processes make and remove the same names. Each call may succeed or
// not, but what one process made it can use, and nothing stays.
static void fight_for_names(long seed)
{
  for (int i = 0; i < 150; i++) {
    char *name = numbered("ut-x", (i * 7 + seed) % 5);
    int fd;
    switch ((i + seed) % 4) {
    case 0:
      mkdir(name);
      break;
    case 1:
      link("/echo", name);
      break;
    case 2:
      if ((fd = open(name, O_CREATE | O_RDWR)) >= 0) {
        struct stat st;
        IS(fstat(fd, &st), 0);
        close(fd);
      }
      break;
    default:
      unlink(name);
    }
  }
}

static void name_races(void)
{
  for (int i = 0; i < 4; i++)
    spawn(fight_for_names, i);
  expect_all_ok(4);
  for (int i = 0; i < 5; i++)
    unlink(numbered("ut-x", i));
  for (int i = 0; i < 5; i++)
    IS(type_of(numbered("ut-x", i)), -1);
  struct stat st;
  IS(stat("/echo", &st), 0);
  IS(st.nlink, 1);
}

// Each of several makes names of its own in one folder; all of them are there.
static void make_names(long i)
{
  for (int j = 0; j < 40; j++)
    close(opened(numbered(i == 0 ? "a" : i == 1 ? "b" : "c", j), O_CREATE));
}

static void shared_folder(void)
{
  IS(mkdir("ut-sf"), 0);
  IS(chdir("ut-sf"), 0);
  for (int i = 0; i < 3; i++)
    spawn(make_names, i);
  expect_all_ok(3);
  IS(count_names("."), 120);
  for (int j = 0; j < 40; j++) {
    IS(unlink(numbered("a", j)), 0);
    IS(unlink(numbered("b", j)), 0);
    IS(unlink(numbered("c", j)), 0);
  }
  IS(count_names("."), 0);
  IS(chdir("/"), 0);
  IS(unlink("ut-sf"), 0);
}

// The folder of a process is its own: it is inherited, and moving does not move
// the parent.
static void own_folder(void)
{
  IS(mkdir("ut-cd"), 0);
  IS(chdir("ut-cd"), 0);
  int pid = fork();
  if (pid == 0) {
    make_file("mine", 10, 1);
    IS(chdir("/"), 0);
    IS(type_of("ut-cd/mine"), T_FILE);
    exit(0);
  }
  expect_end(pid, 0);
  IS(type_of("mine"), T_FILE);
  IS(unlink("mine"), 0);
  IS(chdir(".."), 0);
  IS(unlink("ut-cd"), 0);
}

const struct test dir_tests[] = {
    {"paths", paths, 0},
    {"fileasdir", file_as_folder, 0},
    {"longnames", long_names, 0},
    {"rmdir", remove_folder, 0},
    {"rmcwd", removed_cwd, 0},
    {"rmcwdexit", removed_cwd_exit, 1},
    {"deepdirs", deep, 0},
    {"manynames", many_names, 0},
    {"links", links, 0},
    {"nameraces", name_races, 0},
    {"shareddir", shared_folder, 0},
    {"owndir", own_folder, 0},
    {0},
};
