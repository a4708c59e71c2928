"""What SQLite and the file system complain about, in one sentence that says what to do."""

import sqlite3
from pathlib import Path

from gossamer.core.errors import GossamerError, Misuse, SpecError, TransportDown


def explained(fault: Exception, spool: str) -> GossamerError:
    """The fault, told to whoever waits for the work that met it."""
    if isinstance(fault, GossamerError):
        return fault
    if isinstance(fault, sqlite3.IntegrityError):
        return Misuse(f"the spool {spool} holds a publication with this id already ({fault}): give every event its own")
    if not isinstance(fault, sqlite3.Error):
        return Misuse(f"this cannot be written to the spool {spool}: {fault}")
    match getattr(fault, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_FULL:
            return TransportDown(
                f"the disk under the spool {spool} is full: free space there; the node runs on and tries again"
            )
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_ERROR:
            return damaged(spool, str(fault))
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return TransportDown(f"the spool {spool} cannot be written ({fault}): make file and folder writable")
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return Misuse(f"the spool {spool} is open in another program: close that one")
    return TransportDown(f"the spool {spool} cannot be reached ({fault}): look after the disk it is on")


def damaged(spool: str, why: str) -> SpecError:
    """Nothing is repaired or deleted here: it may be the only copy of somebody's events."""
    return SpecError(f"the spool {spool} is damaged ({why}): stop the node and move the file away, it begins a new one")


def no_folder(fault: OSError, folder: Path | None) -> GossamerError:
    """Why a folder cannot hold a spool."""
    if isinstance(fault, FileExistsError | NotADirectoryError):
        return Misuse(f"the spool needs a folder, and {folder} is (or lies in) a file: name another place")
    if isinstance(fault, PermissionError) or fault.errno == 30:  # EROFS: the file system is mounted read-only
        return Misuse(f"the spool's folder {folder} cannot be written: make it writable, or name another place")
    return TransportDown(f"the spool's folder {folder} cannot be used ({fault.strerror}): look after the disk it is on")
