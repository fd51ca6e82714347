#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ring_mutants.py SOURCE CC [NAME...]: breaks one line of shm/ at a time and says which test notices.

The models (make check-models) judge orders of memory, which x86 hides or whose window is too small to be
hit, such as an announcement that comes late; this judges everything else, in the code that ships.  A mutant that nobody notices, or whose line is gone, is a failure."""
import os
import subprocess
import sys
import tempfile

# name, file, what stands there (once), what stands there instead
MUTANTS = (
    ("recycle_early", "dict_write", "w->block - h->last_ref >= w->nblocks", "w->block - h->last_ref + 1 >= w->nblocks"),
    ("half_unreferenced", "dict_write", "	h->last_ref = w->block;\n	show_meta", "	show_meta"),
    ("entry_head_first", "dict_write", "	h->used += need;\n	return", "	h->used += need - 16;\n	return"),
    ("resumed_half_free", "dict_write", ".referenced = generation != 0,", ".referenced = false,"),
    ("resumed_over_entries", "dict_write", "		at += need;\n", "		break;\n"),
    ("resumed_other_half", "dict_write", "d->half[1].generation > d->half[0].generation", "d->half[1].generation < d->half[0].generation"),
    ("never_announced", "ring_write", "	ring_announce(&w->hdr->intent, w->announced);\n", ""),
    ("published_too_far", "ring_write", "ring_publish(&w->hdr->tail, w->pos);", "ring_publish(&w->hdr->tail, w->pos + 16);"),
    ("long_batch_unpublished", "ring_write", "	if (w->pos - w->published >= (w->data_mask + 1) / 2)\n		ring_writer_publish(w);\n", ""),
    ("block_number_wrong", "ring_write", ".first_seq = w->seq,", ".first_seq = w->seq + 1,"),
    ("straddles", "ring_write", "w->block_end - w->pos < need, 0", "w->block_end - w->pos < need - 16, 0"),
    ("wakes_nobody", "ring_write", "FUTEX_WAKE_SHARED, WAKE_AT_MOST", "FUTEX_WAKE_SHARED, 0"),
    ("wakes_always", "ring_write", "	if (now < w->next_wake_ns)\n		return;\n", ""),
    ("resume_intent_back", "ring_resume", "	w->announced = p->intent;", "	w->announced = w->block;"),
    ("resume_at_intent", "ring_resume", "w->pos = w->published = p->tail;", "w->pos = w->published = p->intent << w->shift;"),
    ("resume_number_skipped", "ring_resume", "	w->seq = p->seq;", "	w->seq = p->seq + 1;"),
    ("resume_number_twice", "ring_resume", "	w->seq = p->seq;", "	w->seq = p->seq - 1;"),
    ("resume_unlocked", "ring_resume", "return !fcntl(fd, F_OFD_SETLK, &fl);", "return fl.l_type;"),
    ("resume_closed", "ring_resume", "h.state == RING_LIVE && ", ""),
    ("resume_other_boot", "ring_resume", "!memcmp(h->boot_id, boot_id, sizeof(boot_id))", "boot_id[0] < 256"),
    ("resume_with_holes", "ring_resume", "(uint64_t)st.st_blocks * 512 >= g->file_bytes", "st.st_blocks"),
    ("resume_unwalked", "ring_resume", "	return pos == p->tail;", "	return true;"),
    ("resume_old_slots", "ring_resume", "	forget_slots(w);\n", ""),
    ("resume_totals_anew", "ring_resume", "		w->lost_before[i] = h->lost[i];\n", ""),
    ("twin_punched", "ring_resume", "		ring_prev_untwin(w);\n", "		;\n"),
    ("punched_unannounced", "ring_replace", "	write_at(p->fd, offsetof(struct ring_header, intent), &intent, sizeof(intent));\n", ""),
    ("punched_uncounted", "ring_replace", "	if (ring_number_possible(h, h->final_seq))", "	if (0)"),
    ("live_writer_ignored", "ring_replace", "	if (writer_alive(fd)) {", "	if (0) {"),
    ("unlocked_ring", "ring_create", "	if (fcntl(w->fd, F_OFD_SETLK, &fl))", "	if (fl.l_type == F_UNLCK)"),
    ("no_magic", "ring_create", "	ring_magic_store(w->hdr->magic, RING_MAGIC);\n", ""),
    ("off_by_one", "ring_read", "intent - block < r->f.nblocks;\n}\n\nint", "intent - block <= r->f.nblocks;\n}\n\nint"),
    ("no_recheck", "ring_read", "	if (!r->f.paranoid || r->touched || err)\n", "	if (err)\n"),
    ("number_unchecked", "ring_read", " || h->seq != (uint32_t)r->next_seq", ""),
    ("type_unchecked", "ring_read", "h->type == RING_T_ILLEGAL || ", ""),
    ("life_untold", "ring_read", "	ring_enter_life(r, b->incarnation);\n", ""),
    ("epochs_of_any_life", "ring_seek", "x.clock_epoch == y.clock_epoch &&\n	       x.incarnation == y.incarnation",
     "x.clock_epoch == y.clock_epoch"),
    ("stale_pid", "liveness", "offsetof(struct ring_header, writer_pid)", "offsetof(struct ring_header, nblocks)"),
)

PROGRAMS = {
    "fault_ring": ("fault_ring", "fault_worlds", "ring_readers", "ring_strangers", "ring_fixture"),
    "check_ring": ("check_ring", "check_ring_records", "check_ring_loss", "check_ring_dict", "check_ring_restart",
                   "check_ring_resume", "check_ring_files", "check_ring_reading", "check_ring_status",
                   "check_ring_hostile", "ring_fixture"),
    "stress_ring": ("stress_ring", "ring_readers", "ring_strangers", "ring_fixture"),
}
KILLERS = (("fault_ring", ["1"]), ("check_ring", []), ("stress_ring", ["300000", "60", "30"]))
NO_POINTS = "void ring_testpoint(const char *n) { (void)n; }\n"


class Tree:
    def __init__(self, source, cc, work):
        self.source, self.cc, self.work = source, cc.split(), work
        check = subprocess.run(["pkg-config", "--cflags", "--libs", "check"], capture_output=True, text=True)
        self.check = check.stdout.split()
        self.shm = [n[:-2] for n in sorted(os.listdir(source + "/shm")) if n.endswith(".c")]

    def run_cc(self, *args):
        subprocess.run([*self.cc, *args], check=True, stderr=subprocess.DEVNULL)

    def compile(self, source, to):
        self.run_cc("-std=gnu11", "-O1", "-w", "-D_GNU_SOURCE", "-DRING_TESTPOINTS", '-DPACKAGE_VERSION="0"',
                    "-I" + self.source, "-c", source, "-o", to)

    def at(self, name):
        return "%s/%s.o" % (self.work, name)

    def compile_all(self):
        for name in self.shm:
            self.compile("%s/shm/%s.c" % (self.source, name), self.at(name))
        for name in sorted({n for names in PROGRAMS.values() for n in names}):
            self.compile("%s/tests/%s.c" % (self.source, name), self.at(name))
        with open(self.work + "/no_points.c", "w") as f:
            f.write(NO_POINTS)
        self.compile(self.work + "/no_points.c", self.at("no_points"))

    def link(self, program, instead):
        objects = [self.at(instead.get(n, n)) for n in (*self.shm, *PROGRAMS[program])]
        if program != "fault_ring":
            objects.append(self.at("no_points"))
        self.run_cc("-o", self.work + "/" + program, *objects, *self.check, "-lpthread")

    def killer(self, instead):
        """The first program that notices; None."""
        env = dict(os.environ, srcdir=self.source, CK_TIMEOUT_MULTIPLIER="4", CK_VERBOSITY="silent")
        for program, args in KILLERS:
            self.link(program, instead)
            try:
                done = subprocess.run([self.work + "/" + program, *args], env=env, timeout=90,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            except subprocess.TimeoutExpired:
                return program + " (hangs)"
            if done.returncode:
                return program
        return None

    def mutate(self, name, old, new):
        with open("%s/shm/%s.c" % (self.source, name)) as f:
            text = f.read()
        if text.count(old) != 1:
            return False
        with open(self.work + "/mutant.c", "w") as f:
            f.write(text.replace(old, new))
        self.compile(self.work + "/mutant.c", self.at("mutant"))
        return True


def main():
    source, cc, *names = os.path.abspath(sys.argv[1]), sys.argv[2], *sys.argv[3:]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="ring-mutants.") as work:
        tree = Tree(source, cc, work)
        tree.compile_all()
        found = None if names else tree.killer({})
        if not names:
            print("%-24s %s" % ("(as shipped)", "FAILS: " + found if found else "passes"), flush=True)
        failed += bool(found)
        for name, where, old, new in MUTANTS:
            if names and name not in names:
                continue
            if not tree.mutate(where, old, new):
                found = "NOT THERE: shm/%s.c has changed" % where
                failed += 1
            else:
                found = tree.killer({where: "mutant"})
                failed += not found
            print("%-24s %s" % (name, found or "SURVIVED"), flush=True)
    print("%d mutants, %d survived" % (len(names) or len(MUTANTS), failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
