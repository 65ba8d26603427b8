// labgen/base/error: codes, accumulation, places.
#include <criterion/criterion.h>
#include <errno.h>

#include "labgen/base/error.h"

Test(error, a_single_error_is_its_code_and_message)
{
  struct error err = {0};
  cr_assert_eq(error_set(&err, LG_EIO, "cannot %s", "do it"), LG_EIO);
  cr_assert_eq(err.code, LG_EIO);
  cr_assert_str_eq(err.message, "cannot do it");
  error_release(&err);
  cr_assert_eq(err.code, 0);
  cr_assert_null(err.message);
}

Test(error, later_errors_go_below_and_the_first_code_stays)
{
  struct error err = {0};
  error_at(&err, LG_EINPUT, "a.yaml", 3, 7, "unknown key '%s'", "x");
  cr_assert_eq(error_set(&err, LG_EIO, "second"), LG_EIO);
  cr_assert_eq(err.code, LG_EINPUT);
  cr_assert_str_eq(err.message, "a.yaml:3:7: unknown key 'x'\nsecond");
  error_release(&err);
}

Test(error, a_place_leaves_out_what_is_zero)
{
  struct error err = {0};
  error_at(&err, LG_EINPUT, "f", 9, 0, "a");
  error_at(&err, LG_EINPUT, "f", 0, 0, "b");
  error_at(&err, LG_EINPUT, "f", 0, 4, "c");
  cr_assert_str_eq(err.message, "f:9: a\nf: b\nf: c");
  error_release(&err);
}

Test(error, errno_is_spelled_out_and_kept)
{
  struct error err = {0};
  errno = ENOSPC;
  error_errno(&err, LG_EIO, "cannot write %s", "x");
  cr_assert_eq(errno, ENOSPC);
  cr_assert_str_eq(err.message, "cannot write x: No space left on device");
  error_release(&err);
}

Test(error, nobody_needs_to_listen)
{
  cr_assert_eq(error_set(NULL, LG_EUSAGE, "x"), LG_EUSAGE);
  cr_assert_eq(error_at(NULL, LG_EUSAGE, "f", 1, 1, "x"), LG_EUSAGE);
  cr_assert_eq(error_errno(NULL, LG_EUSAGE, "x"), LG_EUSAGE);
}

Test(error, a_message_may_quote_the_one_it_extends)
{
  struct error err = {0};
  error_set(&err, LG_EINPUT, "first");
  error_set(&err, LG_EINPUT, "(%s)", err.message);
  cr_assert_str_eq(err.message, "first\n(first)");
  error_release(&err);
}

Test(error, every_code_has_a_status_and_a_name)
{
  cr_assert_eq(error_exit_status(0), 0);
  cr_assert_str_eq(error_name(0), "no error");
#define CHECK(code, status, text)                \
  cr_assert_lt(code, 0);                         \
  cr_assert_eq(error_exit_status(code), status); \
  cr_assert_str_eq(error_name(code), text);
  LG_ERRORS(CHECK)
  cr_assert_eq(error_exit_status(LG_EREFUSED), 1);
  cr_assert_eq(error_exit_status(LG_EINPUT), 2);
  cr_assert_eq(error_exit_status(-9999), 3);
  cr_assert_eq(error_exit_status(1), 3);
}
