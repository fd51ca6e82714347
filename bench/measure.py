# SPDX-License-Identifier: Apache-2.0
"""What the benches measure with: groups of processes, their CPU, memory and switches; the profilers."""
import glob
import json
import os
import re
import signal
import subprocess
import time


class Skip(Exception):
    """A row that cannot be taken here; the text says why."""


def cgroup2():
    for line in open("/proc/mounts"):
        f = line.split()
        if f[2] == "cgroup2":
            return f[1]
    raise Skip("no cgroup2 hierarchy, by which the CPU of a process tree is measured")


class Group:
    """Processes whose CPU is counted together, the reaped ones too (cpu.stat of a cgroup)."""
    count = 0

    def __init__(self):
        Group.count += 1
        self.path = "%s/ringside-bench-%d-%d" % (cgroup2(), os.getpid(), Group.count)
        os.mkdir(self.path)
        self.first = None

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.end()

    def run(self, argv, **kw):
        def enter():
            with open(self.path + "/cgroup.procs", "w") as f:
                f.write("0")
        p = subprocess.Popen([str(a) for a in argv], preexec_fn=enter, **kw)
        self.first = self.first or p
        return p

    def cpu(self):
        """Seconds, user and system, of everything that ever ran here."""
        stat = open(self.path + "/cpu.stat").read()
        return int(re.search(r"^usage_usec (\d+)", stat, re.M).group(1)) / 1e6

    def pids(self):
        return [int(p) for p in open(self.path + "/cgroup.procs").read().split()]

    def switches(self):
        """Voluntary ones: what it does of itself, not what others on the CPU do to it."""
        total = 0
        for pid in self.pids():
            for path in glob.glob("/proc/%d/task/*/status" % pid):
                try:
                    text = open(path).read()
                except OSError:
                    continue
                total += sum(map(int, re.findall(r"^voluntary_ctxt_switches:\s*(\d+)", text, re.M)))
        return total

    def memory(self, without=None):
        """MiB: (PSS without `without` and BPF maps, BPF maps)."""
        pss, maps = 0, {}
        for pid in self.pids():
            name = ""
            try:
                for line in open("/proc/%d/smaps" % pid):
                    f = line.split()
                    if not f[0].endswith(":"):
                        name = " ".join(f[5:])
                    elif f[0] == "Pss:" and "bpf-map" not in name and not (without and without in name):
                        pss += int(f[1])
                for path in glob.glob("/proc/%d/fdinfo/*" % pid):
                    info = dict(re.findall(r"^(map_id|memlock):\s*(\d+)", open(path).read(), re.M))
                    if "map_id" in info:
                        maps[info["map_id"]] = int(info["memlock"])
            except OSError:
                continue			# it ended meanwhile
        return pss / 1024, sum(maps.values()) / 2**20

    def end(self):
        for sig in (signal.SIGTERM, signal.SIGKILL):
            for pid in self.pids():
                try:
                    os.kill(pid, sig)
                except ProcessLookupError:
                    pass
            limit = time.time() + 3
            while self.pids() and time.time() < limit:
                if self.first:
                    self.first.poll()
                time.sleep(0.02)
        if self.first:
            self.first.wait()
        try:
            os.rmdir(self.path)
        except OSError:
            pass


def boot_ns():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Bench:
    """Paths of one build, and a folder of its own on tmpfs."""

    def __init__(self, build, shm):
        self.build, self.shm = build, shm
        self.ring = shm + "/ring"
        os.environ["HOME"] = shm			# perf's build-id cache
        self.sidecar = self.built("ringsided")
        self.floor_object = build + "/bench/floor.bpf.o"

    def built(self, name):
        folder, base = os.path.split(os.path.join(self.build, name))
        for path in (folder + "/.libs/" + base, folder + "/" + base):
            if os.path.exists(path):
                return path
        raise Skip("not built: " + name)

    def w1(self, group, *options):
        return group.run([self.built("bench/w1_shares"), *options], stdout=subprocess.PIPE, text=True)

    def ringside(self, group, hz, *options):
        """ringsided, until it is ready."""
        read, write = os.pipe()
        log = open(self.shm + "/log", "w")
        p = group.run([self.sidecar, "--ring", self.ring, "-F", hz, "--ready-fd", write, *options],
                      stderr=log, pass_fds=(write,))
        os.close(write)
        with os.fdopen(read) as f:
            if "ready" not in f.readline():
                raise Skip("ringsided did not start: " + open(self.shm + "/log").read()[-300:])
        return p

    def reader(self, group, *options):
        env = dict(os.environ, LD_LIBRARY_PATH=self.build + "/.libs")
        return group.run([self.built("bench/latency"), "--ring", self.ring, *options],
                         stdout=subprocess.PIPE, text=True, env=env)

    def perf_script(self, group, hz, *target):
        """S: the stock way to stream named samples."""
        command = ("perf record -q -e cpu-clock -F %d -g -o - %s 2>/dev/null | perf script -i - 2>/dev/null"
                   " >%s/script" % (hz, " ".join(map(str, target)), self.shm))
        p = group.run(["sh", "-c", command])
        until(lambda: os.path.exists(self.shm + "/script") and len(group.pids()) >= 3, 5)
        time.sleep(0.3)
        return p

    def perf(self, group, hz, *target):
        """P: perf record -g to a file.  Without the build-id pass at its end, which crashes now and then."""
        return group.run(["perf", "record", "-q", "-B", "-e", "cpu-clock", "-F", hz, "-g", "-k", "CLOCK_MONOTONIC",
                          "-o", self.shm + "/perf.data", *target],
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def perf_samples(self):
        """(samples, time of the first by CLOCK_MONOTONIC) in perf.data."""
        out = subprocess.run(["perf", "script", "-i", self.shm + "/perf.data", "--ns", "-G", "-F", "time"],
                             capture_output=True, text=True).stdout.split()
        times = [float(t.rstrip(":")) for t in out]
        if not times:
            raise Skip("perf record delivered nothing")
        return len(times), min(times)

    def floor(self, group, mode, hz, seconds, tgid=0):
        p = group.run([self.built("bench/floor"), mode, hz, seconds]
                      + ([self.floor_object, tgid] if mode == "poll" else []),
                      stdout=subprocess.PIPE, text=True)
        if "ready" not in p.stdout.readline():
            raise Skip("bench/floor cannot run here")
        return p

    def status(self):
        env = dict(os.environ, RINGSIDE_RING=self.ring, LD_LIBRARY_PATH=self.build + "/.libs")
        out = subprocess.run([self.built("ringside"), "status", "-o", "json"], env=env,
                             capture_output=True, text=True).stdout
        return json.loads(out)


def until(what, seconds):
    limit = time.time() + seconds
    while not what():
        if time.time() > limit:
            return False
        time.sleep(0.02)
    return True


def result(process, timeout=30):
    """What a bench program printed at its end: JSON, or `key value` pairs."""
    out = process.communicate(timeout=timeout)[0]
    last = out.strip().splitlines()[-1] if out.strip() else ""
    if last.startswith("{"):
        return json.loads(last)
    words = last.split()
    return {k: float(v) for k, v in zip(words[0::2], words[1::2])}


def finish(process):
    """SIGTERM, and what it printed."""
    process.send_signal(signal.SIGTERM)
    return result(process)


def median(values):
    v = sorted(values)
    return v[len(v) // 2] if len(v) % 2 else (v[len(v) // 2 - 1] + v[len(v) // 2]) / 2
