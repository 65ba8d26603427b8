// The shell: words, < and >, |, ; and &, parentheses, and cd.
//
// A line goes through three steps. split() makes an array of tokens of it,
// check() looks once over all of them and finds whatever is wrong, and then
// run_list() and the functions below it work on ranges of that array: a list is
// cut at ; and &, each piece at |, and what is left is a group in parentheses
// or a program to run. Since check() has been there, running needs no errors of
// syntax. No variables, no quotes, no patterns.

#include "kernel/types.h"
#include "kernel/fcntl.h"
#include "kernel/param.h"
#include "kernel/stat.h"
#include "user/user.h"

#define LINE_BYTES 512
#define MAX_TOKENS 160
#define MAX_DEPTH 8  // of parentheses; one page of stack must do

#define WORD 'w'
#define END 'e'
#define BLANKS " \t\r\v\f"
#define OPERATORS "<>|;&()"

struct token {
  char kind;         // WORD, END, or the operator's character
  int match;         // of '(': which token is its ')'
  const char *text;  // of WORD
};

static char line[LINE_BYTES];
static char words[2 * LINE_BYTES];  // every word of the line, each with its NUL
static struct token tokens[MAX_TOKENS];

static void run_list(int at, int end);

static void complain(const char *what, const char *detail)
{
  fprintf(2, "sh: %s%s\n", what, detail);
}

// ---- from bytes to tokens -------------------------------------------------

// Reads a line of any length into line[], cut to what fits, a NUL byte becoming
// a blank. Returns how many bytes it had, or -1 at the end of the input. Byte
// by byte, because what follows the line may be meant for the program it
// starts.
static int read_line(void)
{
  int len = 0;
  int got;
  char c;

  while ((got = read(0, &c, 1)) == 1 && c != '\n') {
    if (len < LINE_BYTES - 1)
      line[len] = c == '\0' ? ' ' : c;
    len++;
  }
  line[len < LINE_BYTES ? len : LINE_BYTES - 1] = '\0';
  return got != 1 && len == 0 ? -1 : len;
}

// Makes tokens[] of line[], an END last. Returns what is wrong, or 0.
static const char *split(void)
{
  const char *from = line;
  char *to = words;

  for (int i = 0; i < MAX_TOKENS; i++) {
    struct token *token = &tokens[i];

    while (*from != '\0' && strchr(BLANKS, *from))
      from++;
    if (*from == '\0') {
      token->kind = END;
      return 0;
    }
    if (strchr(OPERATORS, *from)) {
      token->kind = *from++;
      continue;
    }
    token->kind = WORD;
    token->text = to;
    while (!strchr(BLANKS OPERATORS, *from))
      *to++ = *from++;
    *to++ = '\0';
  }
  return "line has too many words";
}

// ---- is it a command? -----------------------------------------------------

// What check() has seen of the command that it is in.
enum seen { NOTHING, WORDS, GROUP };

static char message[] = "missing command before ?";

static const char *missing_before(char kind)
{
  if (kind == END)
    return "missing command at the end";
  message[sizeof message - 2] = kind;
  return message;
}

// Looks whether tokens[] is a list of commands, and joins each '(' to its ')'.
// Returns what is wrong, or 0.
static const char *check(void)
{
  int opened[MAX_DEPTH];
  int depth = 0;
  char previous = ';';  // the start of a line is like the start after a ;
  enum seen seen = NOTHING;

  for (int i = 0;; i++) {
    char kind = tokens[i].kind;

    if (strchr("<>", previous) && kind != WORD)
      return "missing file name";
    switch (kind) {
    case WORD:
      if (strchr("<>", previous))
        break;
      if (seen == GROUP)
        return "unexpected word after )";
      seen = WORDS;
      break;
    case '(':
      if (seen != NOTHING)
        return "unexpected (";
      if (depth == MAX_DEPTH)
        return "parentheses too deep";
      opened[depth++] = i;
      break;
    case ')':
    case END:
      // the last command of a list may be missing after its ; or &
      if (seen == NOTHING && !strchr(";&", previous))
        return missing_before(kind);
      if (kind == END)
        return depth > 0 ? "missing )" : 0;
      if (depth == 0)
        return "unexpected )";
      tokens[opened[--depth]].match = i;
      seen = GROUP;
      break;
    case '|':
    case ';':
    case '&':
      // & ends a command as ; does; "a &; b" is allowed as well
      if (seen == NOTHING && (kind != ';' || previous != '&'))
        return missing_before(kind);
      seen = NOTHING;
      break;
    }
    previous = kind;
  }
}

// ---- running --------------------------------------------------------------

// Index of the first token in [at, end) that is one of kinds and not within
// parentheses, or end.
static int find(const char *kinds, int at, int end)
{
  while (at < end && !strchr(kinds, tokens[at].kind))
    at = tokens[at].kind == '(' ? tokens[at].match + 1 : at + 1;
  return at;
}

// Makes the open file fd, if there is one (not -1), the one with number as.
static void move_fd(int fd, int as)
{
  if (fd < 0)
    return;
  close(as);
  dup(fd);
  close(fd);
}

// Standard input from the file, or output into it. Exits if that cannot be.
static void redirect(char kind, const char *path)
{
  int fd = open(path, kind == '<' ? O_RDONLY : O_WRONLY | O_CREATE | O_TRUNC);

  if (fd < 0) {
    complain("cannot open ", path);
    exit(1);
  }
  move_fd(fd, kind == '<' ? 0 : 1);
}

// Becomes the program args[0], taken from here or else from /. Returns only if
// there is no such program.
static void become(char **args)
{
  static char from_root[LINE_BYTES + 2] = "/";

  exec(args[0], args);
  if (strchr(args[0], '/') == 0) {
    strcpy(from_root + 1, args[0]);
    exec(from_root, args);
  }
  complain("cannot run ", args[0]);
}

// One command of a pipeline: a group or a program, and redirections. Runs in a
// process of its own and never returns.
static void run_stage(int at, int end)
{
  static char *args[MAXARG + 1];
  int count = 0;
  int group = -1;

  while (at < end) {
    struct token *token = &tokens[at++];
    if (token->kind == '(') {
      group = at;
      at = token->match + 1;
    } else if (token->kind != WORD) {
      redirect(token->kind, tokens[at++].text);
    } else if (count < MAXARG - 1) {
      args[count++] = (char *)token->text;
    } else {
      complain("too many arguments for ", args[0]);
      exit(1);
    }
  }
  if (group >= 0) {
    run_list(group, tokens[group - 1].match);
    exit(0);
  }
  args[count] = 0;
  become(args);
  exit(1);
}

// cd changes this process, so it has none of its own. 1 if the command was cd.
static int run_cd(int at, int end)
{
  const char *path = end - at > 1 ? tokens[at + 1].text : "/";

  if (tokens[at].kind != WORD || strcmp(tokens[at].text, "cd") != 0)
    return 0;
  if (end - at > 2 || (end - at == 2 && tokens[at + 1].kind != WORD))
    complain("usage: cd [directory]", "");
  else if (chdir(path) < 0)
    complain("cannot cd to ", path);
  return 1;
}

// Commands joined by |. Starts them all, each reading what the one on its left
// writes, and waits until all have ended.
static void run_pipeline(int at, int end)
{
  int children = 0;
  int input = -1;  // where the next one reads, -1: standard input
  int stop;

  for (; at < end; at = stop + 1) {
    int fds[2] = {-1, -1};
    int pid;

    stop = find("|", at, end);
    if (stop < end && pipe(fds) < 0) {
      complain("cannot make a pipe", "");
      break;
    }
    pid = fork();
    if (pid == 0) {
      move_fd(input, 0);
      move_fd(fds[1], 1);
      if (fds[0] >= 0)
        close(fds[0]);
      run_stage(at, stop);
    }
    if (input >= 0)
      close(input);
    if (fds[1] >= 0)
      close(fds[1]);
    input = fds[0];
    if (pid < 0) {
      complain("cannot fork", "");
      break;
    }
    children++;
  }
  if (input >= 0)
    close(input);
  while (children-- > 0)
    wait(0);
}

// Runs a pipeline that nobody waits for. It is the child of a child that ends
// at once, so that init reaps it and the shell's own wait meets only what it
// started in the foreground.
static void run_background(int at, int end)
{
  int pid = fork();

  if (pid == 0) {
    if (fork() == 0)
      run_pipeline(at, end);
    exit(0);
  }
  if (pid < 0)
    complain("cannot fork", "");
  else
    wait(0);
}

// Commands separated by ; and &.
static void run_list(int at, int end)
{
  while (at < end) {
    int stop = find(";&", at, end);

    if (at == stop)
      ;  // nothing stands between an & and a ;
    else if (stop < end && tokens[stop].kind == '&')
      run_background(at, stop);
    else if (find("|", at, stop) < stop || !run_cd(at, stop))
      run_pipeline(at, stop);
    at = stop + 1;
  }
}

// The token that ends the line.
static int last_token(void)
{
  int i = 0;

  while (tokens[i].kind != END)
    i++;
  return i;
}

// Standard input is the console (then the shell prompts) or a file of commands.
int main(void)
{
  struct stat st;
  int interactive = fstat(0, &st) == 0 && st.type == T_DEVICE;
  int len;

  for (;;) {
    const char *wrong;

    if (interactive)
      fprintf(2, "$ ");
    len = read_line();
    if (len < 0)
      return 0;
    wrong = len >= LINE_BYTES ? "line too long" : split();
    if (!wrong)
      wrong = check();
    if (wrong)
      complain(wrong, "");
    else
      run_list(0, last_token());
  }
}
