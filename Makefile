# Crescent: `make help` lists what can be asked for.
#
# Only the front end knows which Lua it is built with, so its objects exist once a Lua
# (build/obj/lua5.4, build/obj/luajit) and everything else once.  build/<lua>/ holds the
# programs and libraries of a Lua; build/ has copies of the ones chosen by LUA.

CFLAGS ?= -O2 -g
PREFIX ?= /usr/local
BUILD  ?= build
OBJCOPY ?= objcopy
STRIP  ?= strip

# What was built last is what is installed.
ifneq ($(filter install uninstall,$(MAKECMDGOALS)),)
LUA    ?= $(shell cat $(BUILD)/obj/lua 2>/dev/null || echo lua5.4)
endif
# LUA_INCDIR, a folder of Lua's headers, as LuaRocks gives it, says which Lua they are of.
ifneq ($(LUA_INCDIR),)
LUA    ?= $(if $(wildcard $(LUA_INCDIR)/luajit.h),luajit,lua5.$(shell \
    sed -n 's/^.define LUA_VERSION_NUM[^0-9]*50\([0-9]\).*/\1/p' $(LUA_INCDIR)/lua.h))
endif
LUA    ?= lua5.4

# Where things are installed, as the GNU coding standards call it.
bindir     ?= $(PREFIX)/bin
libdir     ?= $(PREFIX)/lib
includedir ?= $(PREFIX)/include
datadir    ?= $(PREFIX)/share
mandir     ?= $(datadir)/man

# Those that `test` uses, and all that there can be.
LUAS     := lua5.4 luajit
ALL_LUAS := $(LUAS) lua5.1 lua5.2 lua5.3
FLAGS  := -std=c11 -D_GNU_SOURCE -ffp-contract=off -Wall -Wextra -Wpedantic -I. -MMD -MP \
    -fPIC -fvisibility=hidden

ifeq ($(filter $(LUA),$(ALL_LUAS)),)
$(error LUA=$(LUA) is not known, expected one of: $(ALL_LUAS))
endif

# One goal is made by as many jobs as there are processors, if make is not told how many; of several
# goals the second may want the first.
ifeq ($(MAKELEVEL)$(word 2,$(MAKECMDGOALS)),0)
MAKEFLAGS += -j$(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
endif

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:

# ---- Libraries -----------------------------------------------------------------------
# Expanded when a recipe runs, not before: by then `setup` may have installed them.

# -l for a library: its static archive where there is one, so that the program runs
# where nothing is installed.
static = $(if $(findstring /,$(shell $(CC) -print-file-name=lib$(1).a)),-l:lib$(1).a,-l$(1))

lua_name  = $(patsubst luajit,luajit-5.1,$(1))
lua_abi   = $(patsubst lua%,%,$(patsubst luajit,lua5.1,$(1)))
lua_flags = $(if $(LUA_INCDIR),-I$(LUA_INCDIR),$(shell pkg-config --cflags $(1)))
libraries = $(call static,$(lua_name)) $(call static,pcre2-8) $(call static,utf8proc) \
            -ldl -lpthread -lm
# The same for a shared library.
shared_libraries = -l$(lua_name) $(module_libraries)
module_libraries = -lpcre2-8 -lutf8proc -ldl -lpthread -lm
check_flags = $(shell pkg-config --cflags check)
check_libraries = $(shell pkg-config --libs check) $(call static,jansson)

# ---- Sources -------------------------------------------------------------------------

# What of import calls Lua, compiled like the front end.
lua_sources      := compiler/import/lua_terms.c
compiler_sources := $(filter-out $(lua_sources),\
    $(foreach d,files ir json tokenizer import passes passes/* emit exec explain library,$(wildcard compiler/$(d)/*.c)))
cli_sources      := $(wildcard compiler/cli/*.c)
frontend_sources := $(wildcard compiler/frontend/*.c) $(lua_sources)
module_sources   := $(wildcard compiler/lua/*.c)
# What needs MPI is an object of its own, which MPI=1 asks for, and the tests.
with_ranks       := $(MPI)$(filter test,$(MAKECMDGOALS))
runtime_sources  := $(filter-out runtime/ranks_mpi.c,$(wildcard runtime/*.c))
test_sources     := $(wildcard tests/test_*.c)
fuzz_sources     := $(wildcard tests/fuzz/*.c)
# What libcheck would write for every assertion that holds.
marks            := tests/libcheck/mark_point.c
# Whose work tests/linear_time.sh counts: what a script passes through on its way to C.
counted_sources  := $(foreach d,ir import passes passes/* emit frontend,$(wildcard compiler/$(d)/*.c))

object   = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
frontend = $(patsubst %.c,$(BUILD)/obj/$(1)/%.o,$(frontend_sources))
module   = $(patsubst %.c,$(BUILD)/obj/$(1)/%.o,$(module_sources))
suites   = $(patsubst tests/%.c,$(BUILD)/$(1)/tests/%,$(test_sources))
# Of the suites one includes Lua's headers; the others are compiled once for all Luas.
sandbox  = $(BUILD)/obj/$(1)/tests/test_sandbox.o
fuzzers  = $(fuzz_targets:%=$(BUILD)/$(1)/fuzz/%)

# What runs the fuzz targets: nothing where libFuzzer does.
FUZZ_DRIVER ?= tests/fuzz_readers/driver.c

fuzz_targets     := $(filter-out driver,$(patsubst tests/fuzz_readers/%.c,%,$(wildcard tests/fuzz_readers/*.c)))

compiler_objects := $(call object,$(compiler_sources))
cli_objects      := $(call object,$(cli_sources))
runtime_objects  := $(call object,$(runtime_sources))
runtime_library  := $(BUILD)/libcrescent_rt.a

# The version is that of the header; the number of the shared library changes with its interface.
comma      := ,
version    := $(shell sed -n 's/^#define CRESCENT_VERSION "\(.*\)"$$/\1/p' compiler/crescent.h)
soversion  := 0

# Texts that are built into the program (.incbin), which the compiler does not report.
embedded_lua     := $(wildcard graphs/*.lua graphs/lib/*.lua)
embedded_runtime := $(wildcard runtime/*.[ch] runtime/*.inc compiler/files/*.[ch] \
    compiler/files/*.inc compiler/tokenizer/*.h compiler/tokenizer/*.inc compiler/emit/*.inc \
    compiler/emit/standalone_texts.h)

# ---- Building ------------------------------------------------------------------------

all: $(BUILD)/crescent $(BUILD)/libcrescent.a $(BUILD)/libcrescent.so $(runtime_library) lua-module \
    $(if $(with_ranks),mpi)

# A row without its function, and a function without its row, are errors.
complete = $(if $(filter compiler/% runtime/%,$<),-Werror=implicit-function-declaration \
    -Werror=missing-prototypes -Werror=unused-function)

compile = @mkdir -p $(@D); echo "  CC    $<"; $(CC) $(FLAGS) $(complete) $(CFLAGS) $(SANITIZE)
link    = @mkdir -p $(@D); echo "  LINK  $@"; $(CC) $(FLAGS) $(CFLAGS) $(SANITIZE) $(hardened) $(LDFLAGS)
archive = @mkdir -p $(@D); echo "  AR    $@"; rm -f $@; $(AR) rcs $@

# For the programs that only tests run, most with all of the library: gold takes two thirds of the time of ld.
quick_link := $(if $(shell $(CC) -fuse-ld=gold -Wl,--version 2>/dev/null),-fuse-ld=gold)

# Addresses of other libraries' functions are looked up when it is loaded, and cannot be changed then.
hardened := -Wl,-z,relro,-z,now,--build-id
pie       = $(if $(findstring -static,$(CC) $(LDFLAGS)),,-pie)

# What the last build was made with: what depends on it is made anew when it changes.
remember = @mkdir -p $(@D); echo '$(1)' | cmp -s - $@ || echo '$(1)' > $@

$(BUILD)/obj/flags: always
	$(call remember,$(CC) $(FLAGS) $(CFLAGS) $(SANITIZE))

$(BUILD)/obj/lua: always
	$(call remember,$(LUA))

$(BUILD)/obj/%.o: %.c $(BUILD)/obj/flags
	$(compile) -c $< -o $@

$(call object,$(test_sources) $(marks)): private CFLAGS += $(check_flags)

# Most suites spend their time in the library: optimising them takes longer than it saves.  test_int8_products.c has a runtime
# of its own, which takes a minute.
optimised := bf16_product emit_tokenizer gguf_formats half_formats interpreter linear_sums quantised runtime tokenizer \
    verify_bodies
$(call object,$(filter-out $(optimised:%=tests/test_%.c),$(test_sources))): private CFLAGS += -O0

# Debug information of the runtime has lines, but no variables: gcc takes 20 s less.
lines_alone := $(if $(filter -g,$(CFLAGS)),-g1)
$(call object,runtime/runtime.c): private CFLAGS += $(lines_alone)

$(call object,compiler/emit/runtime_text.c): $(embedded_runtime)

$(call object,compiler/explain/page.c): $(wildcard compiler/explain/page/*)

$(runtime_library): $(runtime_objects)
	$(archive) $^

# Debian has TinyCC as an archive whose code is not made for shared libraries: it takes the addresses of
# stdout, stderr and environ as constants.  And it makes memory writable and executable at once.  Here is all
# of it as one object, which takes these names from compiler/exec/tcc_libc.c, and of which nothing but its
# interface is seen.  It is in all of our libraries: none needs TinyCC's own.
of_tcc_libc := stdout stderr environ mprotect
tinycc := $(BUILD)/obj/libtcc.o
$(tinycc): $(BUILD)/obj/flags
	@mkdir -p $(@D); echo "  LD    $@"
	@$(CC) -r -nostdlib -Wl,--whole-archive $(shell $(CC) -print-file-name=libtcc.a) -o $@.whole
	@$(OBJCOPY) -w --keep-global-symbol='tcc_*' $(foreach s,$(of_tcc_libc),--redefine-sym $(s)=cr_tcc_$(s)) $@.whole $@
	@rm -f $@.whole

# The rules of one Lua, $(1).
define rules_of_a_lua
$(BUILD)/obj/$(1)/incdir: always
	$$(call remember,$$(LUA_INCDIR))

$(call frontend,$(1)) $(call module,$(1)) $(call sandbox,$(1)): $(BUILD)/obj/$(1)/%.o: %.c $(BUILD)/obj/flags \
    $(BUILD)/obj/$(1)/incdir
	$$(compile) $$(call lua_flags,$(1)) -c $$< -o $$@

$(BUILD)/obj/$(1)/compiler/frontend/builtin_modules.o: $(embedded_lua)

# Bytecode of the modules that are built in, for programs with a Lua of their own.  Shared libraries find Lua
# when they are loaded, which may be another release: they have the texts alone.
$(BUILD)/obj/$(1)/precompile: compiler/frontend/precompile/precompile.c $(BUILD)/obj/flags \
    $(BUILD)/obj/$(1)/incdir
	$$(link) $$(call lua_flags,$(1)) -MF $$@.d $$< -o $$@ $$(call static,$$(call lua_name,$(1))) -ldl -lm

$(BUILD)/obj/$(1)/bytecode/made: $(BUILD)/obj/$(1)/precompile $(embedded_lua)
	@mkdir -p $$(@D); $$< $$(@D)/ && touch $$@

$(BUILD)/obj/$(1)/precompiled_modules.o: compiler/frontend/builtin_modules.c $(BUILD)/obj/$(1)/bytecode/made
	$$(compile) -DCR_BYTECODE='"$(BUILD)/obj/$(1)/bytecode/"' -c $$< -o $$@

$(BUILD)/$(1)/libcrescent.a: $(compiler_objects) $(tinycc) $(BUILD)/obj/$(1)/precompiled_modules.o \
    $(filter-out %/builtin_modules.o,$(call frontend,$(1)))
	$$(archive) $$^

$(BUILD)/$(1)/libcrescent.so: $(compiler_objects) $(call frontend,$(1)) $(runtime_objects) \
    $(tinycc) compiler/crescent.map
	$$(link) -shared -Wl,-soname,libcrescent.so.$(soversion) $$(if $$(SANITIZE),,-Wl,-z$$(comma)defs) \
	    -Wl,--version-script=compiler/crescent.map $$(filter %.o,$$^) -o $$@ \
	    $$(call shared_libraries,$(1))

# The module for Lua: the same objects, but the names of Lua are the host's.  It stays when a state is
# closed, as threads of its own may be asleep in it.
$(BUILD)/$(1)/crescent.so: $(compiler_objects) $(call frontend,$(1)) $(call module,$(1)) \
    $(runtime_objects) $(tinycc) compiler/lua/crescent.map
	$$(link) -shared -Wl,-z$$(comma)nodelete -Wl,--version-script=compiler/lua/crescent.map \
	    $$(filter %.o,$$^) -o $$@ $$(module_libraries)

$(BUILD)/$(1)/crescent: $(cli_objects) $(BUILD)/$(1)/libcrescent.a $(runtime_library)
	$$(link) $$(pie) $$^ -o $$@ $$(call libraries,$(1))

$(BUILD)/$(1)/crescent-fuzz: $(call object,$(fuzz_sources)) $(BUILD)/$(1)/libcrescent.a \
    $(runtime_library)
	$$(link) $$^ -o $$@ $$(call libraries,$(1))

$(addprefix $(BUILD)/$(1)/,call_library search_folder): $(BUILD)/$(1)/%: docs/%.c $(BUILD)/$(1)/libcrescent.a $(runtime_library) \
    $(BUILD)/obj/flags
	$$(link) -MF $$@.d $$< $$(filter %.a,$$^) -o $$@ $$(call libraries,$(1))

$(filter-out %/test_sandbox,$(call suites,$(1))): $(BUILD)/$(1)/tests/%: $(BUILD)/obj/tests/%.o
$(BUILD)/$(1)/tests/test_sandbox: $(call sandbox,$(1))
$(call suites,$(1)): $(call object,$(marks)) $(BUILD)/$(1)/libcrescent.a $(runtime_library) $(BUILD)/obj/flags
	$$(link) $$(quick_link) -Wl,--wrap=_mark_point $$(filter %.o,$$^) $$(filter %.a,$$^) -o $$@ $$(check_libraries) $$(call libraries,$(1))

$(call fuzzers,$(1)): $(BUILD)/$(1)/fuzz/%: tests/fuzz_readers/%.c $(call object,$(FUZZ_DRIVER)) \
    $(BUILD)/$(1)/libcrescent.a $(runtime_library) $(BUILD)/obj/flags
	$$(link) $$(quick_link) $$(FUZZ_LINK) -MF $$@.d $$< $$(filter %.o %.a,$$^) -o $$@ $$(call libraries,$(1))
endef
$(foreach lua,$(ALL_LUAS),$(eval $(call rules_of_a_lua,$(lua))))

$(BUILD)/crescent $(BUILD)/libcrescent.a $(BUILD)/libcrescent.so: $(BUILD)/%: $(BUILD)/$(LUA)/% $(BUILD)/obj/lua
	@cp -f $< $@

lua-module: $(BUILD)/$(LUA)/crescent.so

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

# The program that counts its own work, for tests/linear_time.sh: what it counts is compiled with a call in every
# branch, and stands before the libraries, of which it takes the rest.
counted := $(counted_sources:%.c=$(BUILD)/work/%.o)
wrapped := memset memcpy memmove memcmp memchr calloc

$(counted): $(BUILD)/work/%.o: %.c $(BUILD)/obj/flags $(BUILD)/obj/lua
	@mkdir -p $(@D); echo "  COUNT $<"
	@$(CC) $(FLAGS) $(SANITIZE) -O0 -fsanitize-coverage=trace-pc $(call lua_flags,$(LUA)) -c $< -o $@

$(BUILD)/work/compiler/frontend/builtin_modules.o: $(embedded_lua)
$(BUILD)/work/compiler/emit/runtime_text.o: $(embedded_runtime)

$(BUILD)/$(LUA)/crescent-work: $(counted) $(call object,tests/work/count.c) $(cli_objects) \
    $(BUILD)/$(LUA)/libcrescent.a $(runtime_library)
	$(link) $^ -o $@ $(wrapped:%=-Wl,--wrap=%) $(call libraries,$(LUA))

# A shared object for each MPI that there is, which the program loads under its mpirun.  Debian has an
# mpicc.FAMILY for each; elsewhere a macro of mpi.h says whose mpicc it is.  Tests do without, and say so.
no_mpicc = $(if $(filter test,$(MAKECMDGOALS)),exit 0,{ \
    echo 'found no mpicc, expected one (make MPI=1 installs Open MPI)' >&2; exit 1; })
mpi: runtime/ranks_mpi.c runtime/ranks.h $(if $(with_ranks),setup)
	@mkdir -p $(BUILD); for family in openmpi mpich; do \
	    mpicc=$$(command -v mpicc.$$family || command -v mpicc) || $(no_mpicc); \
	    here=$$(echo '#include <mpi.h>' | $$mpicc -E -dM -x c - | grep 'define OPEN_MPI ' >/dev/null && \
	        echo openmpi || echo mpich); \
	    [ $$here = $$family ] || continue; \
	    object=$(BUILD)/crescent_$$family.so; \
	    [ ! $$object -nt $< ] || [ ! $$object -nt runtime/ranks.h ] || continue; \
	    echo "  MPICC $$object"; \
	    $$mpicc $(filter-out -MMD -MP -Wpedantic,$(FLAGS)) $(CFLAGS) -shared $< -o $$object || exit; \
	done

# ---- Set-up --------------------------------------------------------------------------
# `make test`, the demos and `make experiments` install what is missing, before anything is
# compiled; other targets leave the machine as it is.  Where Open MPI cannot be installed, `make test` goes on.

setup:
	@sh tests/setup.sh
	@$(if $(with_ranks),sh tests/setup.sh mpi$(if $(MPI),, || echo 'Without MPI, tests of several ranks are skipped.'))

# All that is compiled waits for the file of flags, and so for `setup`, however many jobs make runs: tests/check_setup.sh.
sets_up := $(MPI)$(filter setup test demo train-demo train-fables accuracy experiments,$(MAKECMDGOALS))
$(BUILD)/obj/flags: | $(if $(sets_up),setup,libraries-found)

libraries-found:
	@[ -n '$(LUA_INCDIR)' ] || pkg-config --exists $(LUA) libpcre2-8 libutf8proc 2>/dev/null || \
	    { echo 'make: $(LUA), PCRE2 or utf8proc: found no headers, expected `make setup` first' >&2; \
	    exit 1; }

# ---- Testing -------------------------------------------------------------------------

# Scripts of tests/ that join the suites where they exist; CRESCENT is the program.  Where processors
# are shared by suites, long ones come first.
script = $(if $(wildcard tests/$(2)),'CRESCENT=$(BUILD)/$(1)/crescent sh tests/$(2)')
programs_of = $(foreach s,$(2),'CRESCENT=$(BUILD)/$(1)/crescent $(BUILD)/$(1)/tests/$(s)')
suites_of = $(call programs_of,$(1),$(with_lua)) \
    $(call script,$(1),nano_sort.sh) $(call script,$(1),models.sh) $(call script,$(1),malformed.sh) \
    $(call script,$(1),deep_models.sh) $(call script,$(1),out_of_memory.sh) \
    $(call script,$(1),golden.sh) $(call script,$(1),exports.sh) \
    'CRESCENT=$(BUILD)/$(1)/crescent sh tests/library.sh $(BUILD)/$(1)/call_library $(BUILD)/$(1)/search_folder' \
    'MAKE=$(MAKE) BUILD=$(BUILD) LUA=$(1) sh tests/install.sh' \
    $(call module_suite,$(1)) $(call threads_suite,$(1)) \
    $(call generate,--check,$(1)) \
    'CRESCENT=$(BUILD)/$(1)/crescent sh tests/experiments.sh --check' \
    'CRESCENT=$(BUILD)/$(1)/crescent sh tests/fuzz_readers.sh $(call readers_of,$(1))'
# Of a second Lua only those that run scripts.
readers_of = $(filter $(if $(filter $(LUA),$(1)),%,%/config %/family %/folder %/script),$(call fuzzers,$(1)))
# An interpreter is no program with sanitizers in it, as a module with them asks for.
module_suite = $(if $(SANITIZE),,'CRESCENT=$(BUILD)/$(1)/crescent sh tests/lua_module.sh $(BUILD)/$(1)/crescent.so $(1)')
built_for = $(BUILD)/$(1)/libcrescent.so $(with_lua:%=$(BUILD)/$(1)/tests/%) $(call readers_of,$(1)) \
    $(BUILD)/$(1)/crescent $(BUILD)/$(1)/crescent.so \
    $(BUILD)/$(1)/crescent-fuzz $(BUILD)/$(1)/call_library $(BUILD)/$(1)/search_folder

# What random graphs found before, and a look at some; see `fuzz` below.
fuzz_corpus = $(sort $(wildcard tests/fuzz/corpus/*.lua))
fuzz_look = N=2000 SEED=4 JOBS=2 SECONDS=30 REACH=1

# Includes follow the layers, and no file calls others in circles.
layers = 'sh tests/check_layers.sh $(BUILD)/obj $(LUA)'
# Comments stand before long functions, a list holds all messages, and nothing is compiled before `setup`.
texts = 'sh tests/check_comments.sh' 'sh tests/messages.sh' 'sh tests/check_setup.sh'

# Of one Lua: no variable of the libraries changes without a lock.
statics = 'sh tests/check_statics.sh $(BUILD)/$(1)/libcrescent.a $(runtime_library)'

# What does not depend on the Lua: the C that was emitted, under every compiler at hand, a copy of the
# tree that is extended, files, the runtime on other processors, what comes after a script, programs
# that are linked without a Lua, the numbers of graphs that scripts have built, as lua_versions.sh holds that
# both Luas build the same, the command line, whose errors of scripts lua_versions.sh and golden.sh have with both,
# and programs that run no script but have contexts, with which a Lua is linked.
numbers := attention_gradients attention_variants bf16_product emit_embed emit_generate entries evaluation \
    formats generate_verb generator gguf_formats gguf_ranks half_formats import_views incremental int8_products kept_weights \
    layer_outputs lengths nonfinite pack_weights persistent_states quantised ragged same_bits targets text_vectors \
    verify_bodies verify_module verify_program
without_script := compare kept_tokenizer tokenizer
without_lua := c_text code_memory compilers emit_tokenizer gradient integers interpreter linear_sums random_tokenizers \
    ranks recompute_order runtime sampler tensor_files
of_one_lua := $(numbers) cli $(without_script) $(without_lua)
with_lua    := $(filter-out $(of_one_lua:%=test_%),$(test_sources:tests/%.c=%))
scale = 'CRESCENT=$(BUILD)/$(LUA)/crescent-work sh tests/linear_time.sh'
standalone = $(foreach s,standalone extend fixtures encoders entries machine_bits train_c pool,$(call script,$(LUA),$(s).sh)) \
    $(call programs_of,$(LUA),$(numbers:%=test_%) test_cli $(without_script:%=test_%)) \
    'BUILD=$(BUILD) CRESCENT=$(BUILD)/$(LUA)/crescent sh tests/ranks.sh $(BUILD)/$(LUA)/tests/test_ranks' \
    'BUILD=$(BUILD) CRESCENT=$(BUILD)/$(LUA)/crescent sh tests/gguf_ranks.sh $(BUILD)/$(LUA)/tests/test_gguf_ranks' \
    'BUILD=$(BUILD) CRESCENT=$(BUILD)/$(LUA)/crescent sh tests/train_ranks.sh' \
    'BUILD=$(BUILD) CRESCENT=$(BUILD)/$(LUA)/crescent sh tests/step_bytes.sh' \
    '$(BUILD)/$(LUA)/crescent-fuzz $(fuzz_look)' \
    '$(BUILD)/$(LUA)/crescent-fuzz $(fuzz_corpus)' \
    $(scale) $(foreach s,recompute c_identifiers emitted_layout train micro_batches output_files fables families explain taps import,$(call script,$(LUA),$(s).sh)) \
    $(call programs_of,$(LUA),$(without_lua:%=test_%)) \
    'sh tests/check_without_lua.sh $(without_lua:%=$(BUILD)/$(LUA)/tests/test_%)'

test: setup $(foreach lua,$(LUAS),$(call built_for,$(lua))) $(call suites,$(LUA)) \
    $(BUILD)/$(LUA)/crescent-work all
	@sh tests/run.sh $(layers) $(texts) $(call statics,$(LUA)) \
	    $(standalone) $(call docs,--check) $(pages) 'LEVEL=-O0 CRESCENT=$(BUILD)/crescent sh tests/demo.sh' \
	    'sh tests/lua_versions.sh $(LUAS:%=$(BUILD)/%/crescent)' \
	    $(foreach lua,$(LUAS),$(call suites_of,$(lua)))

# The suites of one Lua only, without the set-up.
check: $(call built_for,$(LUA)) $(call suites,$(LUA)) $(BUILD)/$(LUA)/crescent-work
	@sh tests/run.sh $(layers) $(texts) $(call statics,$(LUA)) \
	    $(standalone) $(call docs,--check) $(pages) $(call suites_of,$(LUA))

# What is installed, and four threads that use it at once.
library_of = $(BUILD)/$(1)/crescent $(BUILD)/$(1)/libcrescent.a $(BUILD)/$(1)/libcrescent.so $(runtime_library)
threads_suite = 'MAKE=$(MAKE) BUILD=$(BUILD) LUA=$(1) SANITIZE=$(SANITIZE) sh tests/threads.sh $(2)'

# The module under every Lua that there is; `test` does it with LUAS.
# The front end's own suites, too.
lua_suites := test_frontend test_sandbox
lua-versions: $(foreach lua,$(ALL_LUAS),$(BUILD)/$(lua)/crescent $(BUILD)/$(lua)/crescent.so \
    $(lua_suites:%=$(BUILD)/$(lua)/tests/%))
	@sh tests/run.sh $(foreach lua,$(ALL_LUAS),$(call programs_of,$(lua),$(lua_suites)) \
	    $(call module_suite,$(lua)))

layers: all
	@sh -c $(layers)

comments:
	@sh tests/check_comments.sh

# Random graphs against every oracle (docs/testing.md): N of them, from number FIRST of SEED on, by
# JOBS processes.  What is found is reduced, which may take SECONDS, and left in OUT.
fuzz: N := 10000
fuzz: SEED := 1
fuzz: FIRST := 0
fuzz: JOBS := 2
fuzz: SECONDS := 300
fuzz: OUT := $(BUILD)/found
fuzz: $(BUILD)/$(LUA)/crescent-fuzz
	@$< N=$(N) SEED=$(SEED) FIRST=$(FIRST) JOBS=$(JOBS) SECONDS=$(SECONDS) OUT=$(OUT)

asan:
	@ASAN_OPTIONS=detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1 \
	$(MAKE) --no-print-directory check BUILD=build/asan CFLAGS='-O1 -g -DCR_DEBUG' \
	    SANITIZE='-fsanitize=address,undefined -fno-sanitize-recover=undefined'

# The readers, the front end and printed graphs, on mutations of small files: by libFuzzer where
# clang has it, else by tests/fuzz_readers/driver.c.  N inputs for each, or SECONDS.
N       ?= 1000000
SECONDS ?= 60
SEED    ?= 1
fuzz_sanitize := -fsanitize=address,undefined -fno-sanitize-recover=undefined
# No target calls the functions of the runtime, and with sanitizers clang takes minutes for them:
# they are built without.
ifneq ($(FUZZING),)
$(BUILD)/obj/runtime/runtime.o: override SANITIZE :=
endif
# gcc 12 stores vectors of 64 bytes as if the stack for use after return were aligned for them.
no_fake_stack := --param=asan-use-after-return=0
ifneq ($(findstring address,$(SANITIZE)),)
ifeq ($(shell $(CC) $(no_fake_stack) -fsyntax-only -x c /dev/null 2>&1),)
$(BUILD)/obj/runtime/runtime.o: override SANITIZE += $(no_fake_stack)
endif
endif

fuzz-readers:
	@mkdir -p $(BUILD)/fuzz
	@if echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | \
	    clang -fsanitize=fuzzer,address -x c - -o $(BUILD)/fuzz/probe 2>/dev/null; then \
	    $(MAKE) --no-print-directory run-fuzzers FUZZING=1 BUILD=build/fuzz CC=clang CFLAGS='-O1 -g' \
	        SANITIZE='-fsanitize=fuzzer-no-link $(fuzz_sanitize)' FUZZ_DRIVER= FUZZ_LINK=-fsanitize=fuzzer; \
	else \
	    echo 'clang has no libFuzzer here: mutations are made by tests/fuzz_readers/driver.c'; \
	    $(MAKE) --no-print-directory run-fuzzers FUZZING=1 BUILD=build/fuzz CFLAGS='-O1 -g' \
	        SANITIZE='$(fuzz_sanitize)'; \
	fi

run-fuzzers: $(call fuzzers,$(LUA)) $(BUILD)/$(LUA)/crescent
	@N=$(N) SECONDS_EACH=$(SECONDS) SEED=$(SEED) CRESCENT=$(BUILD)/$(LUA)/crescent \
	    sh tests/fuzz_readers.sh $(call fuzzers,$(LUA))

# Threads that use the library at the same time, under ThreadSanitizer.  Its shadow memory has
# no room where addresses are spread over more bits than it knows: hence setarch.
tsan:
	@$(MAKE) --no-print-directory check-threads BUILD=build/tsan CFLAGS='-O1 -g' \
	    SANITIZE=-fsanitize=thread

threaded := threads runtime
check-threads: $(foreach s,$(threaded),$(BUILD)/$(LUA)/tests/test_$(s)) $(call library_of,$(LUA))
	@setarch -R true 2>/dev/null && run='setarch -R' || run=; \
	CK_FORK=no TSAN_OPTIONS='halt_on_error=0 exitcode=66' sh tests/run.sh \
	    $(foreach s,$(threaded),"CRESCENT=$(BUILD)/$(LUA)/crescent $$run $(BUILD)/$(LUA)/tests/test_$(s)") \
	    $(call threads_suite,$(LUA),) $(if $(SANITIZE),,$(call threads_suite,$(LUA),valgrind))

valgrind: $(call built_for,$(LUA)) $(call suites,$(LUA))
	@CK_FORK=no sh tests/run.sh $(foreach s,$(call suites,$(LUA)), \
	    'CRESCENT=$(BUILD)/$(LUA)/crescent valgrind -q --leak-check=full --error-exitcode=9 $(s)') \
	    'valgrind -q --error-exitcode=9 $(BUILD)/$(LUA)/crescent-fuzz N=5 JOBS=1'

# ---- generated/ ----------------------------------------------------------------------
# SCRIPT:OPTIONS; the standalone C of each is committed, for people to read; of a training its
# step.  Exported to generate.sh.

export GENERATED := \
    decoder_block:B=2,T=8,n_embd=48,n_head=3 \
    heads_block:B=2,T=8,n_embd=48,n_head=3 \
    tiny_block:B=2,T=8,n_embd=48,n_head=3 \
    gpt2_block:B=2,T=8,n_embd=48,n_head=3 \
    stream_block:B=2,T=8,n_embd=48,n_head=3,d_ff=192 \
    gpt2_stack:B=2,T=8,n_embd=48,n_head=3,n_layer=2 \
    train_add:train

generate = 'CRESCENT=$(BUILD)/$(2)/crescent sh tests/generate.sh $(1)'

generated: $(BUILD)/$(LUA)/crescent
	@sh -c $(call generate,--write,$(LUA))

check-generated: $(BUILD)/$(LUA)/crescent
	@sh -c $(call generate,--check,$(LUA))

# ---- docs/ ---------------------------------------------------------------------------
# What README.md and docs/ show of the program's output, made anew; see docs.sh.  pages.sh checks their sizes and links.

docs = 'CRESCENT=$(BUILD)/$(LUA)/crescent sh tests/docs.sh $(1)'
pages = 'sh tests/pages.sh'

docs: $(BUILD)/$(LUA)/crescent
	@sh -c $(call docs,--write)

# The pages of the module for Lua, by LDoc (Debian: lua-ldoc).
ldoc:
	@ldoc --fatalwarnings -c docs/api/config.ld -d $(abspath $(BUILD))/ldoc docs/api/crescent.lua

# Accepts what the compiler does now as what is expected; read the diff before committing.
bless: generated
	@sh -c $(call docs,--write)
	@BLESS=1 CRESCENT=$(BUILD)/$(LUA)/crescent sh tests/golden.sh
	@BLESS=1 sh tests/messages.sh

# ---- Showing and measuring -----------------------------------------------------------

demo: setup all
	@CRESCENT=$(BUILD)/crescent sh tests/demo.sh

# A small GPT learns to sort digits: about a minute.  MODEL=llama: a Llama does.
train-demo: setup all
	@CRESCENT=$(BUILD)/crescent sh tests/train_demo.sh $(MODEL)

# What narrow weights cost in the predictions of trained models: the table of docs/accuracy.md.
accuracy: setup all
	$(link) -MF $(BUILD)/make_fables.d tests/make_fables.c -o $(BUILD)/make_fables
	@CRESCENT=$(BUILD)/crescent MAKE_FABLES=$(BUILD)/make_fables sh tests/accuracy.sh

# A small Llama learns to tell fables: a few minutes.  It is left in build/fables, and is graphs/fables.
train-fables: setup all
	$(link) -MF $(BUILD)/make_fables.d tests/make_fables.c -o $(BUILD)/make_fables
	@CRESCENT=$(BUILD)/crescent MAKE_FABLES=$(BUILD)/make_fables sh tests/train_fables.sh $(BUILD)/fables

# The numbers of docs/experiments*.md and their pictures, which gnuplot draws.
experiments: setup all
	@sh tests/setup.sh pictures
	@sh -c $(call docs,--write docs/experiments.md docs/experiments-blocks.md)
	@CRESCENT=$(BUILD)/$(LUA)/crescent sh tests/experiments.sh --draw
	@echo 'Wrote the numbers of docs/experiments*.md, and docs/experiments/*.svg.'

# SCRIPT:OPTIONS, measured with each number of THREADS; the word grads stands for forward and
# backward.  Exported to the scripts.
ROWS ?= \
    gpt2_block:B=1,T=1 gpt2_block:B=1,T=10 gpt2_block:B=2,T=32 gpt2_block:B=1,T=128 \
    gpt2_block:B=8,T=128 gpt2_block:B=1,T=512 gpt2_block:B=1,T=1024 gpt2_block:B=1,T=4096 \
    gpt2_block:B=2,T=16,n_embd=64,n_head=4 gpt2_block:B=1,T=128,n_embd=1600,n_head=25 \
    gpt2_stack:B=1,T=1 gpt2_stack:B=1,T=64 gpt2_stack:B=1,T=512 \
    heads_block:B=2,T=32,n_embd=768,n_head=12 stream_block:B=1,T=128 \
    gpt2_block:B=2,T=32,grads gpt2_block:B=4,T=64,grads gpt2_block:B=8,T=128,grads
THREADS ?= 1 2
BENCH_SECONDS ?= 1
bench bench-peers: export ROWS := $(ROWS)
bench bench-peers: export THREADS := $(THREADS)
bench bench-peers: export BENCH_SECONDS := $(BENCH_SECONDS)
bench bench-peers: export CRESCENT := $(BUILD)/crescent

bench: all
	@sh tests/bench.sh >$(BUILD)/bench.md.new && mv $(BUILD)/bench.md.new $(BUILD)/bench.md
	@cat $(BUILD)/bench.md

# Beside its peers.  LLAMA_CPP= and IK_LLAMA_CPP= name the folders of native builds, PARTS what is measured: whole
# models, which ends at once if such a folder has no build, blocks, vectors of texts, what comes before the first
# result, a step of a training (LLM_C= names the sources of llm.c).  Runs are kept in docs/bench/PROCESSOR.tsv, of
# which the page beside it, README.md and docs/performance*.md are made.
PARTS ?= models blocks embed start training
peers_blocks = tests/bench_peers.py
peers_models = tests/bench_generate_peers.py
peers_embed  = tests/bench_embed_peers.py
peers_start  = tests/bench_start_peers.py
peers_training = tests/bench_train_peers.py
bench-peers: export PYTHONDONTWRITEBYTECODE := 1
bench-peers: all
	@mkdir -p docs/bench
	@{ python3 tests/bench_record.py --processor$(foreach part,$(PARTS), && python3 $(peers_$(part))); } \
	    >$(BUILD)/peers.tsv
	@page=docs/bench/$$(python3 tests/bench_record.py --file) && \
	    sh tests/bench_tables.sh keep $$page.tsv $(BUILD)/peers.tsv >$(BUILD)/kept.tsv && \
	    sh tests/bench_tables.sh page $(BUILD)/kept.tsv >/dev/null && mv $(BUILD)/kept.tsv $$page.tsv && \
	    printf '<!-- $$ sh tests/bench_tables.sh page %s.tsv -->\n<!-- end -->\n' $$page >$$page.md && \
	    sh tests/docs.sh --write $$page.md README.md docs/performance*.md && cat $$page.md

# The table of docs/variants-cost.md: what ways to attend cost beside plain attention.
variants: all
	@CRESCENT=$(BUILD)/$(LUA)/crescent python3 tests/variants.py docs/variants-cost.md

# ---- Housekeeping --------------------------------------------------------------------

# Tables of Unicode's characters, from those of utf8proc.
unicode: $(BUILD)/obj/flags
	$(link) -MF $(BUILD)/make_unicode.d tests/make_unicode.c -o $(BUILD)/make_unicode $(call static,utf8proc)
	for table in classes compositions compatible lower_case graphemes; do \
	    $(BUILD)/make_unicode $$table >compiler/tokenizer/$$table.inc || exit 1; done

format:
	clang-format -i $(wildcard compiler/*.h compiler/*/*.[ch] compiler/*/*/*.[ch] runtime/*.[ch] tests/*.[ch])

# ---- Installing ----------------------------------------------------------------------

verbs     = $(shell $(BUILD)/$(LUA)/crescent help | sed -n '/^verbs:/,/^$$/s/^  \([a-z][a-z]*\) .*/\1/p')
installed = $(bindir)/crescent $(libdir)/libcrescent.a $(libdir)/libcrescent_rt.a \
    $(libdir)/libcrescent.so.$(version) $(libdir)/libcrescent.so.$(soversion) $(libdir)/libcrescent.so \
    $(libdir)/pkgconfig/crescent.pc $(includedir)/crescent.h \
    $(mandir)/man1/crescent.1 \
    $(datadir)/bash-completion/completions/crescent $(datadir)/zsh/site-functions/_crescent \
    $(datadir)/fish/vendor_completions.d/crescent.fish $(datadir)/crescent/luals/crescent.lua
scripts   = $(wildcard graphs/*.lua graphs/lib/*.lua graphs/configs/*.lua graphs/fables/*)

# What a program needs that is linked with libcrescent.a; a shared library knows what it needs.  It is written where it
# is installed: two installations at a time have prefixes of their own.
pkg_config = { echo 'prefix=$(PREFIX)'; echo 'libdir=$(libdir)'; echo 'includedir=$(includedir)'; echo; \
    echo 'Name: crescent'; echo 'Description: compiles transformers to fused C'; \
    echo 'Version: $(version)'; echo 'Requires.private: $(LUA) libpcre2-8 libutf8proc'; \
    echo 'Cflags: -I$${includedir}'; echo 'Libs: -L$${libdir} -lcrescent'; \
    echo 'Libs.private: -lcrescent_rt -ldl -lpthread -lm'; }

install: all
	@$(MAKE) --no-print-directory install-built LUA=$(LUA)

# Programs that are linked with the shared library find it where the dynamic linker looks: its cache is renewed, or
# what is to be done is said.
cache_libraries = if ! PATH="$$PATH:/usr/sbin:/sbin" ldconfig -NXv 2>/dev/null | grep -q '^$(libdir):'; then \
        echo 'The dynamic linker does not look in $(libdir) for libcrescent.so.$(soversion): set LD_LIBRARY_PATH,'; \
        echo 'link with -Wl,-rpath,$(libdir), or add it to /etc/ld.so.conf.d and run ldconfig.'; \
    elif [ "$$(id -u)" -eq 0 ]; then PATH="$$PATH:/usr/sbin:/sbin" ldconfig; \
    else echo 'Run ldconfig as root, so that programs find $(libdir)/libcrescent.so.$(soversion).'; fi

# The same of what was built before.  STRIP=: keeps symbols and debug information.
install-built:
	install -d $(addprefix $(DESTDIR),$(sort $(dir $(installed)) $(dir $(scripts:%=$(datadir)/crescent/%))))
	install $(BUILD)/$(LUA)/crescent $(DESTDIR)$(bindir)
	install -m 644 $(BUILD)/$(LUA)/libcrescent.a $(runtime_library) $(DESTDIR)$(libdir)
	install -m 644 $(BUILD)/$(LUA)/libcrescent.so $(DESTDIR)$(libdir)/libcrescent.so.$(version)
	ln -sf libcrescent.so.$(version) $(DESTDIR)$(libdir)/libcrescent.so.$(soversion)
	ln -sf libcrescent.so.$(soversion) $(DESTDIR)$(libdir)/libcrescent.so
	@$(pkg_config) >$(DESTDIR)$(libdir)/pkgconfig/crescent.pc
	chmod 644 $(DESTDIR)$(libdir)/pkgconfig/crescent.pc
	install -m 644 compiler/crescent.h $(DESTDIR)$(includedir)
	$(BUILD)/$(LUA)/crescent help --man >$(DESTDIR)$(mandir)/man1/crescent.1
	for verb in $(verbs); do \
	    $(BUILD)/$(LUA)/crescent help --man $$verb >$(DESTDIR)$(mandir)/man1/crescent-$$verb.1 || exit; \
	done
	$(BUILD)/$(LUA)/crescent help --completion bash >$(DESTDIR)$(datadir)/bash-completion/completions/crescent
	$(BUILD)/$(LUA)/crescent help --completion zsh >$(DESTDIR)$(datadir)/zsh/site-functions/_crescent
	$(BUILD)/$(LUA)/crescent help --completion fish \
	    >$(DESTDIR)$(datadir)/fish/vendor_completions.d/crescent.fish
	for file in $(scripts); do \
	    install -m 644 $$file $(DESTDIR)$(datadir)/crescent/$$file || exit; \
	done
	install -m 644 $(annotations) $(DESTDIR)$(datadir)/crescent/luals
	$(STRIP) $(DESTDIR)$(bindir)/crescent
	$(STRIP) --strip-unneeded $(DESTDIR)$(libdir)/libcrescent.so.$(version)
	$(STRIP) --strip-debug $(DESTDIR)$(libdir)/libcrescent.a $(DESTDIR)$(libdir)/libcrescent_rt.a
	@$(if $(DESTDIR),,$(cache_libraries))

# Annotations of the module for Lua, for editors: where `require` does not look.
annotations = docs/api/luals/crescent.lua

# The module alone, where `require` of that Lua looks, and the scripts; LuaRocks says where that is.
LIBDIR ?= $(libdir)/lua/$(call lua_abi,$(LUA))
LUADIR ?= $(datadir)/lua/$(call lua_abi,$(LUA))
install-lua: lua-module
	install -d $(DESTDIR)$(LIBDIR) $(addprefix $(DESTDIR)$(LUADIR)/crescent/,luals $(sort $(dir $(scripts))))
	install $(BUILD)/$(LUA)/crescent.so $(DESTDIR)$(LIBDIR)
	$(STRIP) --strip-unneeded $(DESTDIR)$(LIBDIR)/crescent.so
	install -m 644 $(annotations) $(DESTDIR)$(LUADIR)/crescent/luals
	for file in $(scripts); do install -m 644 $$file $(DESTDIR)$(LUADIR)/crescent/$$file || exit; done

# What install made, and folders that nothing else is in.
uninstall:
	rm -f $(DESTDIR)$(mandir)/man1/crescent-*.1
	rm -f $(addprefix $(DESTDIR),$(installed) $(scripts:%=$(datadir)/crescent/%))
	-rmdir --ignore-fail-on-non-empty -p $(addprefix $(DESTDIR),$(sort \
	    $(dir $(scripts:%=$(datadir)/crescent/%)) $(dir $(installed)))) 2>/dev/null

# What the rockspec takes when it is not in a checkout: the last commit.
dist:
	git archive --prefix=crescent-$(version)/ -o crescent-$(version).tar.gz HEAD

clean:
	rm -rf $(BUILD)

help:
	@echo 'make                   build/crescent, build/libcrescent.a, build/libcrescent_rt.a'
	@echo 'make LUA=luajit        the same with LuaJIT in place of Lua 5.4'
	@echo 'make MPI=1             also what runs on several machines, over MPI; installs Open MPI'
	@echo 'make lua-module        build/LUA/crescent.so, the module for Lua; install-lua LIBDIR='
	@echo 'make demo              set up, build, run a GPT-2 block against PyTorch, tell a story'
	@echo 'make train-demo        train a small GPT that sorts digits, and ask it; MODEL=llama: a Llama'
	@echo 'make accuracy          measure what narrow weights cost in trained models'
	@echo 'make train-fables      train a small Llama that tells fables'
	@echo 'make experiments       run graphs/experiments anew: numbers and pictures of docs/experiments*.md'
	@echo 'make test              set up, build, and run every test with both Luas'
	@echo 'make check             build and run the tests with one Lua; no set-up'
	@echo 'make setup             install what is missing (Debian packages)'
	@echo 'make lua-versions      the tests of the module with Lua 5.1 to 5.4 and LuaJIT'
	@echo 'make asan, valgrind    the tests under sanitizers, under valgrind'
	@echo 'make fuzz              random graphs against every oracle (docs/testing.md); N= SEED= JOBS='
	@echo 'make fuzz-readers      the readers and the front end on mutated files; N= SECONDS= SEED='
	@echo 'make tsan              the library in several threads, under ThreadSanitizer'
	@echo 'make layers            prove that includes and calls follow the layers'
	@echo 'make comments          prove that long functions have comments'
	@echo 'make generated         write generated/ anew; check-generated compares'
	@echo 'make docs              write anew what the pages show of the program'
	@echo 'make ldoc              the reference of the module for Lua as HTML, in build/ldoc'
	@echo 'make bless             accept the current output in golden files, generated/, docs/'
	@echo 'make bench             measure many shapes, as Markdown in build/bench.md; choose by'
	@echo '                       ROWS="gpt2_block:T=128 gpt2_block:T=32,grads ..." THREADS="1 2" BENCH_SECONDS=1'
	@echo '                       BENCH_FORMATS="q8 q8:int8" BENCH_ROUNDS=3'
	@echo 'make bench-peers       the same beside PyTorch, ONNX Runtime and others that are there, into'
	@echo '                       docs/bench/PROCESSOR.tsv and .md, README.md and docs/performance*.md;'
	@echo '                       LLAMA_CPP=FOLDER IK_LLAMA_CPP=FOLDER of native builds, PARTS="models blocks embed start training"'
	@echo '                       MODELS="gpt2 llama-220m llama-1b" FORMATS="f32 q8_0" PROMPTS="2 512" ROUNDS=3 SKIP='
	@echo 'make variants          what ways to attend cost, into the table of docs/variants-cost.md'
	@echo 'make unicode           the tables of Unicode anew, from utf8proc'
	@echo 'make format            clang-format in place'
	@echo 'make install PREFIX=   program, libraries, header, manual, completions, graphs; STRIP=: keeps'
	@echo '                       symbols and debug information; uninstall'
	@echo 'make dist              crescent-VERSION.tar.gz of the last commit, which the rockspec names'
	@echo 'make clean             remove build/'

always:
.PHONY: all always asan bench bench-peers bless check check-generated check-threads clean comments \
    demo dist docs experiments format fuzz fuzz-readers generated help install install-lua layers ldoc \
    lua-module lua-versions libraries-found mpi run-fuzzers setup \
    install-built uninstall test train-demo train-fables accuracy tsan unicode valgrind variants
