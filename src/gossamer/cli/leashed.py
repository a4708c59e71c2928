"""`python -m gossamer.cli.leashed` is the `gossamer` command on a leash: it ends, at once, when its input does.

Whoever starts it holds the other end of that pipe. However the holder ends, by SIGKILL too, nothing is left behind.
"""

import os
import signal
import threading


def end_with_input(descriptor: int = 0) -> None:
    """Waits in a thread until nobody can write to our input any more, and ends the process."""

    def wait() -> None:
        while os.read(descriptor, 4096):
            pass
        os.kill(os.getpid(), signal.SIGKILL)  # spool and trace are made for that, and no handler can hold it up

    threading.Thread(target=wait, name="leash", daemon=True).start()


if __name__ == "__main__":
    end_with_input()  # before anything heavy is loaded: the holder may be gone already

    from gossamer.cli import main

    main()
