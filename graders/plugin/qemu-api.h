// The part of QEMU's interface for TCG plugins that the plugin uses, declared
// by hand from its documentation (docs/devel/tcg-plugins.rst, "TCG Plugins"),
// since distributions do not package the header. Only functions whose form has
// been the same in every version of the interface are here, so that the version
// is a number alone: PLUGIN_API, which the Makefile finds by trying what the
// installed QEMU accepts.
#ifndef LABGEN_PLUGIN_QEMU_API_H
#define LABGEN_PLUGIN_QEMU_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLUGIN_EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;

// What QEMU says of itself. In a user-mode QEMU the two counts mean nothing.
typedef struct qemu_info_t {
  const char *target_name;
  struct {
    int min, cur;  // versions of the interface that this QEMU offers
  } version;
  bool system_emulation;
  struct {
    int smp_vcpus, max_vcpus;
  } system;
} qemu_info_t;

struct qemu_plugin_tb;    // a block of guest code that is being translated
struct qemu_plugin_insn;  // an instruction of it; valid during the callback

enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS = 0 };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_RW = 3 };

typedef uint32_t qemu_plugin_meminfo_t;

typedef void (*qemu_plugin_tb_trans_cb)(qemu_plugin_id_t id,
                                        struct qemu_plugin_tb *tb);
typedef void (*qemu_plugin_exec_cb)(unsigned vcpu, void *userdata);
typedef void (*qemu_plugin_mem_cb)(unsigned vcpu, qemu_plugin_meminfo_t info,
                                   uint64_t vaddr, void *userdata);
typedef void (*qemu_plugin_exit_cb)(qemu_plugin_id_t id, void *userdata);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           qemu_plugin_tb_trans_cb cb);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb,
                                          qemu_plugin_exec_cb cb,
                                          enum qemu_plugin_cb_flags flags,
                                          void *userdata);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
                                            qemu_plugin_exec_cb cb,
                                            enum qemu_plugin_cb_flags flags,
                                            void *userdata);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
                                      qemu_plugin_mem_cb cb,
                                      enum qemu_plugin_cb_flags flags,
                                      enum qemu_plugin_mem_rw rw,
                                      void *userdata);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, qemu_plugin_exit_cb cb,
                                    void *userdata);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(
    const struct qemu_plugin_tb *tb, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);

bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);

// What QEMU looks for in a plugin.
extern PLUGIN_EXPORT int qemu_plugin_version;
PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id,
                                      const qemu_info_t *info, int argc,
                                      char **argv);

#endif
