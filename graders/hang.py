# Run by gdb, attached to a kernel that hangs: says who waits for what. Assumes
# acquire(lk), struct spinlock {locked, name, cpu}, cpus[] and proc[] only.

import itertools

import gdb


def text(pointer):
    """A C string of the guest's, or what stands for one that cannot be read."""
    try:
        return pointer.string(errors="replace", length=-1)[:24] if int(pointer) else "(no name)"
    except gdb.error:
        return "(unreadable name)"


def field(value, name, default="?"):
    try:
        return value[name]
    except gdb.error:
        return default


def frames():
    frame = gdb.newest_frame()
    while frame is not None and frame.is_valid():
        yield frame
        try:
            frame = frame.older()
        except gdb.error:
            return


def awaited(stack):
    """The lock that the thread of these frames spins for, or None."""
    for frame in stack:
        if frame.name() in ("acquire", "__real_acquire", "__wrap_acquire", "watch_await"):
            try:
                lock = frame.read_var("lk")
                if int(lock.dereference()["locked"]):
                    return lock
            except (gdb.error, ValueError):
                pass
    return None


def describe(frame):
    place = frame.find_sal()
    where = ""
    if place.symtab is not None:
        where = " at %s:%d" % (place.symtab.filename, place.line)
    return "%s()%s" % (frame.name() or "?", where)


def lock_name(lock):
    name = text(lock.dereference()["name"])
    return name if name != "(no name)" else "the lock at 0x%x" % int(lock)


def main():
    # Whole tables at once: each look at guest memory is a message to QEMU.
    cpus = gdb.parse_and_eval("cpus")
    cpus.fetch_lazy()
    base, size = int(cpus[0].address), cpus[0].type.sizeof
    waits, stacks = {}, []
    for thread in sorted(gdb.selected_inferior().threads(), key=lambda t: t.num):
        thread.switch()
        hart = thread.num - 1
        stack = list(itertools.islice(frames(), 16))
        lock = awaited(stack)
        if lock is not None:
            waits[hart] = lock
        stacks.append("hart %d:" % hart)
        stacks += ["    " + describe(f) for f in stack]

    holders = {}
    for lock in waits.values():
        owner = field(lock.dereference(), "cpu", 0)
        if int(owner):
            holder = (int(owner) - base) // size
            holders.setdefault(holder, {})[int(lock)] = lock
    parts = []
    for hart in sorted(set(waits) | set(holders)):
        held = " and ".join(lock_name(l) for l in holders.get(hart, {}).values())
        part = "hart %d" % hart
        if held:
            part += " holds " + held
        if hart in waits:
            part += (" and" if held else "") + " waits for " + lock_name(waits[hart])
        parts.append(part)
    print("== hang ==")
    print("; ".join(parts) + "." if parts else "No hart waits for a lock.")
    print("\n".join(stacks))

    for hart in range(len(gdb.selected_inferior().threads())):
        cpu = cpus[hart]
        print("cpus[%d]: noff %s intena %s" % (hart, field(cpu, "noff"), field(cpu, "intena")))
    table = gdb.parse_and_eval("proc")
    table.fetch_lazy()
    first, last = table.type.range()
    for slot in range(first, last + 1):
        p = table[slot]
        if int(p["state"]) != 0:
            print("slot %d pid %s %s %s" % (slot, p["pid"], p["state"], p["name"].string(errors="replace")))


main()
