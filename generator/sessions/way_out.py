"""A network of a sandbox's own, which leads to the internet and not to this machine's localhost: slirp4netns."""

import fcntl
import os
import select
import subprocess
from dataclasses import dataclass

RESOLVER = b"nameserver 10.0.2.3\n"
"""The `/etc/resolv.conf` of such a network: slirp4netns answers there, and asks the resolver of this machine."""

_NS_GET_USERNS = 0xB701  # of linux/nsfs.h
_PATIENCE = 10_000  # milliseconds
_END_SECONDS = 5


@dataclass(frozen=True)
class WayOut:
    """slirp4netns at work for a network namespace.

    It watches a pipe, so that it ends with this process, however that ends.
    """

    process: "subprocess.Popen[bytes]"
    watched: int

    @classmethod
    def opened(cls, program: str, pid: int) -> "WayOut | None":
        """Gives the network namespace of a process a way to the internet; None where that cannot be done."""
        descriptors: list[int] = []
        try:
            descriptors.append(namespace := os.open(f"/proc/{pid}/ns/net", os.O_RDONLY))
            # bubblewrap goes on to a user namespace inside of the one that the network belongs to.
            descriptors.append(owner := fcntl.ioctl(namespace, _NS_GET_USERNS))
            ready, telling = os.pipe()
            watching, watched = os.pipe()
            descriptors += [ready, telling, watching]
            process = subprocess.Popen(  # noqa: S603 - the program of the user's own PATH
                [
                    *(program, "--configure", "--mtu=65520", "--disable-host-loopback"),
                    *("--ready-fd", str(telling), "--exit-fd", str(watching), "--netns-type=path"),
                    *(f"--userns-path=/proc/self/fd/{owner}", f"/proc/self/fd/{namespace}", "tap0"),
                ],
                pass_fds=(namespace, owner, telling, watching),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            os.close(telling)
            descriptors.remove(telling)
            opened = cls(process, watched)
            if _is_told(ready):
                return opened
            opened.close()
        except OSError:
            pass
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        return None

    def close(self) -> None:
        """Ends it."""
        os.close(self.watched)
        try:
            self.process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def _is_told(ready: int) -> bool:
    """Waits for the word of slirp4netns, or for its end."""
    waiting = select.poll()
    waiting.register(ready, select.POLLIN)
    return bool(waiting.poll(_PATIENCE)) and os.read(ready, 1) == b"1"
