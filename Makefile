# make            build/labgen
# make check      build and run all tests; SANITIZE=1 does it with ASan and UBSan
# make coverage   which lines of the tool they reach
# make demo       a course of six students, from their trees to the report
# make bench      build and run the benchmarks
# make mutants    explore and boot mutants of correct allocators, print the
#                 survivors
# make bound-3    explore correct allocators with three preemptions
# make renderings    compile many renderings of every bug
# make fuzz-minute   each fuzz target for a minute
# make lint       what must hold of the sources without running them
# make kill-points   kill a grading run at 500 moments
# make validity   grade the same again and again: hours
# make install    into $(DESTDIR)$(PREFIX); install-student: only what students
#                 may have; uninstall
# make deb        both as Debian packages
#
# Sources are found by name, so a new file needs no line here:
#   labgen/*.c  labgen/*/*.c  graders/*.c  graders/explore/*.c   the program
#   tests/test-*.c    fast tests, one binary      tests/boot-*.c  tests that
#   tests/lib-*.c     helpers of both                    boot kernels, one binary
#   tests/tool-*.c    programs for people and tests
#   tests/fuzz-*.c    one fuzz target each        tests/bench-*.c  one
#                                                   benchmark each
# Kernels are compiled by the Makefile of their own tree, never from here.

# V=1 shows whole command lines.

VERSION := 0.1.0
PREFIX ?= /usr/local
DESTDIR ?=
CC := gcc
PKGS := libgit2 yaml-0.1 libsodium libarchive jansson nettle zlib libdw
JOBS ?= 2

Q := $(if $(V),,@)

BUILD := build
CFLAGS ?= -O2 -g
ifdef SANITIZE
BUILD := build/san
CFLAGS := -O1 -g -fno-omit-frame-pointer \
  -fsanitize=address,undefined -fno-sanitize-recover=undefined
endif
ifdef COVERAGE
BUILD := build/$(if $(SANITIZE),san-)cov
# Counters are not written before an exec: the child has limits of its own then.
CFLAGS := $(if $(SANITIZE),$(CFLAGS),-O1 -g) --coverage \
  -fprofile-update=atomic -fno-builtin-execve -fno-builtin-execvp
endif

# Missing packages are the first thing that a new machine shows; say it well.
ifneq ($(filter-out clean bootstrap,$(or $(MAKECMDGOALS),all)),)
ifneq ($(filter check demo lint,$(MAKECMDGOALS)),)
ifneq ($(shell ./bootstrap.sh >&2 || echo failed),)
$(error packages are missing; see above)
endif
endif
ifneq ($(shell pkg-config --exists $(PKGS) || echo missing),)
$(error libraries are missing; run ./bootstrap.sh)
endif
LIB_CFLAGS := $(shell pkg-config --cflags $(PKGS))
LIBS := $(shell pkg-config --libs $(PKGS))
endif

ALL_CFLAGS = -std=gnu17 -D_GNU_SOURCE -DLABGEN_VERSION='"$(VERSION)"' \
  -DLABGEN_BUILD='"$(BUILD)"' -I. -include labgen/base/banned.h \
  -Wall -Wextra -Werror -Wvla -Wstrict-prototypes -MMD -MP \
  $(LIB_CFLAGS) $(CFLAGS)

# What runs a student's allocator is a program of its own.
EXPLORER_SRC := graders/explore/child.c
LIB_SRC := $(filter-out $(EXPLORER_SRC),\
  $(wildcard labgen/*/*.c graders/*.c graders/explore/*.c))
CMD_SRC := $(wildcard labgen/*.c)
TEST_SRC := $(wildcard tests/test-*.c)
BOOT_SRC := $(wildcard tests/boot-*.c)
HELP_SRC := $(wildcard tests/lib-*.c)
FUZZ_SRC := $(wildcard tests/fuzz-*.c)
BENCH_SRC := $(wildcard tests/bench-*.c)
objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))

LIB := $(BUILD)/liblabgen.a
SUITES := $(if $(TEST_SRC),$(BUILD)/test-all) $(if $(BOOT_SRC),$(BUILD)/boot-all)
FUZZERS := $(patsubst tests/%.c,build/fuzz/%,$(FUZZ_SRC))
BENCHES := $(patsubst %.c,$(BUILD)/bench/%,$(notdir $(BENCH_SRC)))

.PHONY: all check bench lint tidy fuzz install uninstall clean bootstrap
.PHONY: kernel-coverage kernel-faults soak validity
.PHONY: install-programs install-student deb
.PHONY: check-quick coverage demo fuzz-minute gates
all: $(BUILD)/labgen $(BUILD)/labgen-explorer build/plugin.so

$(BUILD)/obj/%.o: %.c Makefile
	@mkdir -p $(@D)
	@echo "cc $<"
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

# Made anew, so that an object whose source has gone does not linger in it.
$(LIB): $(call objects,$(LIB_SRC)) Makefile
	@rm -f $@
	$(Q)ar qcsD $@ $(filter %.o,$^)

$(BUILD)/labgen: $(call objects,$(CMD_SRC)) $(LIB)
	@echo "ld $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# Without sanitizers in any case: their tables lie where the pages of the code
# under test must be. And without counters, which a sandbox would not let it
# write.
$(BUILD)/labgen-explorer: $(call objects,$(EXPLORER_SRC)) $(LIB)
ifneq ($(BUILD),build)
	$(Q)$(MAKE) --no-print-directory SANITIZE= COVERAGE= build/labgen-explorer
	$(Q)cp build/labgen-explorer $@
else
	@echo "ld $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)
endif

$(BUILD)/test-all: $(call objects,$(TEST_SRC) $(HELP_SRC)) $(LIB)
	@echo "ld $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS) -lcriterion

$(BUILD)/boot-all: $(call objects,$(BOOT_SRC) $(HELP_SRC)) $(LIB)
	@echo "ld $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS) -lcriterion

# The kernels that tests boot: the base with the lab's commits, written by the
# library's own code and compiled by the tree's own Makefile.
START := templates/percpu-kalloc/start
REFERENCE := $(START) $(sort $(wildcard solutions/percpu-kalloc/reference/*))
# ... and the reference with another commit, for what tests want to see.
CHANGED := $(notdir $(wildcard tests/kernels/*))
KERNELS := $(patsubst %,build/kernel/%/kernel/kernel,start reference $(CHANGED))
sources = $(wildcard $(shell \
  git ls-files -co --exclude-standard $(1) 2>/dev/null || find $(1) -type f))

build/kernel/start/kernel/kernel: COMMITS := $(START)
build/kernel/start/kernel/kernel: $(call sources,templates/base $(START))
build/kernel/reference/kernel/kernel: COMMITS := $(REFERENCE)
build/kernel/reference/kernel/kernel: $(call sources,templates/base $(REFERENCE))
define changed-kernel
build/kernel/$(1)/kernel/kernel: COMMITS := $(REFERENCE) tests/kernels/$(1)
build/kernel/$(1)/kernel/kernel: \
  $(call sources,templates/base $(REFERENCE) tests/kernels/$(1))
endef
$(foreach name,$(CHANGED),$(eval $(call changed-kernel,$(name))))
build/kernel/%/kernel/kernel: | $(BUILD)/tool-tree
	@echo "kernel $*"
	$(Q)$(BUILD)/tool-tree build/kernel/$* templates/base $(COMMITS)
	$(Q)$(MAKE) -C build/kernel/$* >build/kernel/$*.log 2>&1 || \
	  { cat build/kernel/$*.log; exit 1; }

$(BUILD)/tool-%: $(BUILD)/obj/tests/tool-%.o $(LIB)
	@echo "ld $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# The plugin for QEMU, built for the version of the plugin interface that the
# installed QEMU takes: the first that it accepts. Where it takes none, labgen
# works without a plugin, so that is no error.
PLUGIN_APIS := 1 2 3 4 5 6 7 8
QEMU := qemu-system-riscv64
build/plugin.so: $(wildcard graders/plugin/*.[ch])
build/coverage-plugin.so: tests/coverage-plugin.c graders/plugin/qemu-api.h
build/plugin.so build/coverage-plugin.so: Makefile
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)for api in $(PLUGIN_APIS); do \
	  $(CC) -std=gnu17 -D_GNU_SOURCE -I. -Wall -Wextra -Werror -O2 -g -fPIC \
	    -fvisibility=hidden -shared -pthread -DPLUGIN_API=$$api -o $@.try \
	    $(filter %.c,$^) || exit 1; \
	  if timeout 20 $(QEMU) -M none -display none -plugin $@.try,probe=on 2>&1 \
	    | grep -q 'labgen plugin: accepted'; then \
	    mv $@.try $@; echo "ld $@ (API $$api)"; exit 0; fi; \
	done; rm -f $@.try; echo "no $@: $(QEMU) takes no plugin of ours" >&2

# Bare-metal guests, for what a kernel in order does not do.
GUESTS := $(addprefix build/guest/,$(shell \
  sed -n 's/^.ifdef GUEST_\([a-z]*\).*/\1/p' tests/guest.S))
$(GUESTS): build/guest/%: tests/guest.S
	@mkdir -p $(@D)
	$(Q)riscv64-unknown-elf-gcc -march=rv64imac -mabi=lp64 -nostdlib -static \
	  -Wl,-Ttext=0x80000000 -Wl,--no-warn-rwx-segments -DGUEST_$* -o $@ $<

bench-of = $(filter %/$(1).c,$(BENCH_SRC))
.SECONDARY:
.SECONDEXPANSION:
$(BENCHES): $(BUILD)/bench/%: $$(call objects,$$(call bench-of,%) tests/lib-bench.c) $(LIB)
	@mkdir -p $(@D)
	@echo "ld $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# A fuzz target defines LLVMFuzzerTestOneInput(); clang brings the engine.
FUZZ_CFLAGS = $(filter-out -fno-sanitize-recover%,$(ALL_CFLAGS)) \
  -O1 -g -fsanitize=fuzzer-no-link,address,undefined
build/fuzz/obj/%.o: %.c Makefile
	@mkdir -p $(@D)
	@echo "cc $< (fuzz)"
	$(Q)clang $(FUZZ_CFLAGS) -c -o $@ $<
$(FUZZERS): build/fuzz/%: build/fuzz/obj/tests/%.o \
  $(patsubst %.c,build/fuzz/obj/%.o,$(LIB_SRC))
	@echo "ld $@"
	$(Q)clang -fsanitize=fuzzer,address,undefined -o $@ $^ $(LIBS)

bootstrap:
	./bootstrap.sh

# Tests install what is built, several at a time; so all of it is there first.
INSTALLED := $(BUILD)/labgen $(BUILD)/labgen-explorer $(BUILD)/labgen.1 \
  build/plugin.so
check: $(INSTALLED) $(SUITES) $(KERNELS) $(GUESTS)
	./tools/run-tests $(BUILD) $(JOBS) $(SUITES)

# The tests that boot nothing.
check-quick: $(INSTALLED) $(BUILD)/test-all $(KERNELS) $(GUESTS)
	./tools/run-tests $(BUILD) $(JOBS) $(BUILD)/test-all

# Which lines the tests reach: of all tests, or with QUICK=1 of those that boot
# nothing.
coverage:
	$(MAKE) COVERAGE=1 $(if $(QUICK),check-quick,check)
	./tools/coverage build/$(if $(SANITIZE),san-)cov

demo: all $(BUILD)/tool-subject
	./tools/demo $(BUILD)

# Which lines of the kernel usertests reaches (docs/kernel-coverage.md).
kernel-coverage: $(BUILD)/tool-coverage build/coverage-plugin.so \
  build/kernel/start/kernel/kernel
	$(BUILD)/tool-coverage build/kernel/start/kernel/kernel \
	  $(CURDIR)/build/coverage-plugin.so build/coverage.txt

# Many boots, for a quiet machine. TREE=reference takes another kernel, SOAK='"3 x
# 2: usertests -q"' other boots than the usual ones (tests/tool-soak.c).
TREE ?= start
soak: $(BUILD)/tool-soak build/kernel/$(TREE)/kernel/kernel
	$(BUILD)/tool-soak build/kernel/$(TREE)/kernel/kernel $(SOAK)

# All of tests/kernel-faults; `make check` leaves out those that take long.
kernel-faults: $(BUILD)/boot-all build/kernel/start/kernel/kernel
	LABGEN_FAULTS=all $(BUILD)/boot-all -j$(JOBS) --filter 'usertests/a_fault*'

# Kills a grading run at KILLS moments, ten minutes or so; make check does it 20
# times.
KILLS ?= 500
.PHONY: kill-points
kill-points: all $(BUILD)/boot-all
	LABGEN_KILLS=$(KILLS) $(BUILD)/boot-all --filter 'grade/a_killed_run*'

# The explorer's program is looked for beside the one that runs it.
$(BUILD)/bench/labgen-explorer: $(BUILD)/labgen-explorer
	$(Q)ln -sf ../labgen-explorer $@

bench: all $(BENCHES) $(BUILD)/tool-class $(BUILD)/bench/labgen-explorer \
  build/kernel/reference/kernel/kernel
	@for bench in $(BENCHES); do echo "== $$bench"; $$bench || exit 1; done

# Minutes of exploring and booting; not part of check, which has a sample of it.
# Goes on where it was ended.
$(BUILD)/tool-mutants: $(call objects,tests/mutants.c tests/lib-mutate.c) $(LIB)
	@echo "ld $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

.PHONY: mutants
mutants: $(BUILD)/tool-mutants $(BUILD)/labgen-explorer build/plugin.so
	$< build/mutants

# Correct designs with three preemptions; minutes. `make check` has all material
# with two.
.PHONY: bound-3
bound-3: $(BUILD)/test-all $(BUILD)/labgen-explorer
	LABGEN_BOUND=3 $(BUILD)/test-all -j$(JOBS) --verbose \
	  --filter 'explore_material/*'

# Many renderings of every bug, and of the reference beside it, compiled with
# warnings as errors; `make check` takes one of each bug.
RENDERINGS ?= 10
.PHONY: renderings
renderings: $(BUILD)/boot-all
	LABGEN_RENDERINGS=$(RENDERINGS) $(BUILD)/boot-all \
	  --filter 'material/renderings*'

fuzz: $(FUZZERS)

# Each fuzz target for a minute, or FUZZ_SECONDS.
FUZZ_SECONDS ?= 60
fuzz-minute: $(FUZZERS)
	./tools/fuzz $(FUZZ_SECONDS) $(JOBS) $(FUZZERS)

# clang-tidy takes its time, so files that passed are not looked at again until
# they, a header or the rules change.
TIDY := $(patsubst %,build/lint/%.ok,$(CMD_SRC) $(LIB_SRC) \
  $(filter-out tests/coverage-plugin.c,$(wildcard tests/*.c)))
# Paths through a test are short, and looking at all of them takes half the time.
TIDY_TESTS := --checks='-clang-analyzer-*'
TIDY_DEPS := .clang-tidy $(wildcard labgen/*.h labgen/*/*.h graders/*.h tests/*.h)
$(TIDY): build/lint/%.ok: % $(TIDY_DEPS)
	@mkdir -p $(@D)
	@echo "tidy $*"
	$(Q)clang-tidy --quiet $(if $(filter tests/%,$*),$(TIDY_TESTS)) $* -- $(filter-out -M%,$(ALL_CFLAGS)) 2>$@.log \
	  || { cat $@.log; exit 1; }
	@touch $@

# Hours: how often a mark changes when nothing else does. Not part of CI.
validity: all
	./tools/validity

# What a change must pass besides make check.
gates:
	$(MAKE) lint
	$(MAKE) fuzz-minute
	$(MAKE) coverage SANITIZE=1

lint:
	@rc=0; ./tools/lint || rc=1; \
	$(MAKE) -k -j$(JOBS) --no-print-directory tidy || rc=1; exit $$rc
tidy: $(TIDY)

# The data goes where data_dir() finds it from the program's own place. What
# students get is named in graders/public.c.
DEST = $(DESTDIR)$(PREFIX)
PROGRAMS := $(BUILD)/labgen $(BUILD)/labgen-explorer
COURSE_DATA := config.yaml templates solutions \
  $(wildcard graders/*.yaml graders/*.py) graders/watch \
  graders/instrumented graders/explore/rt
$(BUILD)/labgen.1: docs/labgen.1.in tools/manpage $(BUILD)/labgen
	$(Q)./tools/manpage $(BUILD)/labgen $< >$@.$$$$ && mv $@.$$$$ $@

install-programs: $(INSTALLED)
	install -d $(DEST)/bin $(DEST)/share/labgen $(DEST)/share/man/man1 \
	  $(DEST)/share/bash-completion/completions \
	  $(DEST)/share/zsh/site-functions
	install -m 755 $(PROGRAMS) $(DEST)/bin/
	if [ -e build/plugin.so ]; then \
	  install -m 644 build/plugin.so $(DEST)/share/labgen/; fi
	install -m 644 $(BUILD)/labgen.1 $(DEST)/share/man/man1/
	install -m 644 docs/completion.bash \
	  $(DEST)/share/bash-completion/completions/labgen
	install -m 644 docs/completion.zsh $(DEST)/share/zsh/site-functions/_labgen

install: install-programs
	install -d $(DEST)/share/man/man5
	install -m 644 docs/labgen-lab.5 $(DEST)/share/man/man5/
	cp -R --parents $(COURSE_DATA) $(DEST)/share/labgen/
	chmod -R u=rwX,go=rX $(DEST)/share/labgen

install-student: install-programs
	$(BUILD)/labgen public $(DEST)/share/labgen

uninstall:
	rm -f $(DEST)/bin/labgen $(DEST)/bin/labgen-explorer \
	  $(DEST)/share/man/man1/labgen.1 $(DEST)/share/man/man5/labgen-lab.5 \
	  $(DEST)/share/bash-completion/completions/labgen \
	  $(DEST)/share/zsh/site-functions/_labgen
	rm -rf $(DEST)/share/labgen

# build/deb/labgen_*.deb for students, labgen-course_*.deb with the rest.
deb: $(PROGRAMS) $(BUILD)/labgen.1 build/plugin.so
	./tools/deb $(VERSION) build/deb

clean:
	rm -rf build

-include $(shell find $(BUILD)/obj build/fuzz/obj -name '*.d' 2>/dev/null)
