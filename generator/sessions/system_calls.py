"""The system calls that a notebook has no use for, as a filter by which the kernel refuses them (seccomp)."""

import errno
import os
import tempfile

# What a filter is good for is where a bug of the kernel, or of the sandbox, would let somebody out.
_REFUSED = (
    # File systems, and what is mounted where.
    *("mount", "umount2", "pivot_root", "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount", "fspick"),
    *("mount_setattr", "swapon", "swapoff", "quotactl", "quotactl_fd", "name_to_handle_at", "open_by_handle_at"),
    # Other namespaces.
    *("unshare", "setns"),
    # Other processes' memory and files: the sandbox's own first process is one that a notebook could take over.
    *("ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "pidfd_getfd", "kcmp"),
    # The kernel itself, and the machine.
    *("bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register"),
    *("kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot", "syslog", "acct"),
    # The place of other processes in the queue of a processor: one that is killed has to run to end.
    *("sched_setattr", "ioprio_set"),
    # The keys of the user who runs the server: keyrings know no user namespaces.
    *("keyctl", "add_key", "request_key"),
)
_CLONE_NEWUSER = 0x10000000


def exported_filter() -> bytes:
    """The filter as the kernel's own program for it; empty where pyseccomp or libseccomp is missing."""
    try:
        import pyseccomp  # type: ignore[import-untyped,unused-ignore]
    except (ImportError, RuntimeError, OSError):  # the package, or the library that it loads
        return b""
    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    refusal = pyseccomp.ERRNO(errno.EPERM)
    for name in _REFUSED:
        try:
            rules.add_rule(refusal, name)
        except OSError:  # a call that this libseccomp, or this processor, does not know
            continue
    # A process may choose its own processors and be nicer to others, as some libraries do; only itself.
    other = pyseccomp.Arg(0, pyseccomp.NE, 0)
    rules.add_rule(refusal, "sched_setaffinity", other)
    # ZeroMQ sets the usual policy for each of its threads, and ends the process if it may not.
    rules.add_rule(refusal, "sched_setscheduler", pyseccomp.Arg(1, pyseccomp.NE, os.SCHED_OTHER))
    rules.add_rule(refusal, "setpriority", other)  # of a group or a user, for 0 stands for one process
    rules.add_rule(refusal, "setpriority", pyseccomp.Arg(1, pyseccomp.NE, 0))
    rules.add_rule(refusal, "clone", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, _CLONE_NEWUSER, _CLONE_NEWUSER))
    # Its flags are in memory, where no filter looks; told that there is no such call, libc takes `clone`.
    rules.add_rule(pyseccomp.ERRNO(errno.ENOSYS), "clone3")
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0, os.SEEK_SET)
        return file.read()
