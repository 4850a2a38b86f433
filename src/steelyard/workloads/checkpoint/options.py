"""What the workload `checkpoint` can be asked."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from steelyard.plugin import Duration, ScratchOrAbsolute, Size
from steelyard.plugin.workload import WorkloadOptions, to_word

MIB = 1 << 20
_OF_STATE = {
    "memory": {"memory", "content", "steps", "ring"},
    "shared-memory": {"memory", "content"},
    "messages": {"messages", "queue"},
    "semaphores": {"semaphores"},
}
_OF_STATES = frozenset[str]().union(*_OF_STATE.values())


class SaveHook(BaseModel):
    """How the program is asked to save: by a signal, a file or a command."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    signal: Literal["USR1", "USR2", "HUP", "TERM"] | None = Field(
        None, description="A signal for the program's process; it must not end by it."
    )
    file: str | None = Field(None, min_length=1, description="A file to make, which the program looks for.")
    command: tuple[str, ...] | None = Field(
        None, min_length=1, description="A command with its arguments; the save is done when it ends with 0."
    )

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        if sum(way is not None for way in (self.signal, self.file, self.command)) != 1:
            raise ValueError("give one of 'signal', 'file' and 'command'")
        return self


class UserProgram(BaseModel):
    """A program of the user's that saves its own state."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    run: tuple[str, ...] = Field(
        min_length=1, description="The program with its arguments. It runs in `directory` until it is killed."
    )
    ready: str = Field(
        min_length=1,
        description="A file that the program makes when it is ready, after a start and after a restore. "
        "It is removed before either.",
    )
    save: SaveHook = Field(description="How it is asked to save its state: `signal`, `file` or `command`.")
    state_file: str = Field(
        min_length=1,
        description="The file with its state. With `signal` and `file` the save is done when this file "
        "appears or changes: the program must write it under another name and rename it.",
    )
    restore: tuple[str, ...] = Field(
        min_length=1, description="The program with the arguments by which it goes on from that file."
    )
    state: tuple[str, ...] | None = Field(
        None,
        min_length=1,
        description="A command that prints what must be the same before the save and after the restore.",
    )

    @field_validator("run", "restore", "state", mode="before")
    @classmethod
    def _convert_words(cls, value: object) -> object:
        """A level may be a number."""
        return [to_word(part) for part in value] if isinstance(value, list | tuple) else value


class Ring(BaseModel):
    """Neighbours among the copies, and what goes between them."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    sockets: Literal["reopened", "kept"] = Field(
        "reopened",
        description="What becomes of the connections: `reopened`, closed before the save and made anew by "
        "the restored processes; or `kept`: units are paused and saved, but neither killed nor restored.",
    )
    message: Size = Field(Size(4096), ge=1, le=MIB, description="Size of a message; at most 1 MiB.")
    interval: Duration = Field(
        Duration(0.001), ge=0, le=1, description="Pause between two messages of a unit; at most 1 s."
    )
    messages: int = Field(
        200,
        ge=1,
        le=100_000,
        description="Messages that each unit receives before the checkpoint, and again after it.",
    )
    port: int = Field(
        27450, ge=1024, le=65535, description="Port on the first host at which all copies meet."
    )

    def describe(self) -> dict[str, Any]:
        """In bytes and seconds."""
        amounts = {"message": int(self.message), "interval": float(self.interval)}
        return {**self.model_dump(include={"sockets", "messages", "port"}), **amounts}


class CheckpointOptions(WorkloadOptions):
    """How much state, of what, where, and by which way."""

    directory: ScratchOrAbsolute = Field(
        "scratch",
        description="Where the state file lies: scratch, an absolute path, or a service that is one.",
    )
    way: Literal["application"] = Field(
        "application", description="Who saves and restores: `application`, the program itself."
    )
    state: Literal["memory", "shared-memory", "messages", "semaphores"] = Field(
        "memory",
        description="What is saved: `memory` of a process; or an object of System V in an IPC namespace of "
        "its own: a segment of `shared-memory`, a queue of `messages`, or an array of `semaphores`.",
    )
    memory: Size = Field(
        Size(100_000_000), description="Memory that the unit holds, or size of the segment; 1 MB to 64 GB."
    )
    content: Literal["random", "zero", "half"] = Field(
        "random", description="What the memory holds: `random`, `zero`, or `half`: half of each page is zero."
    )
    messages: int = Field(
        16, ge=1, le=MIB, description="With `state: messages`: in the queue, all of one size."
    )
    queue: Size = Field(
        Size(16384), ge=1, le=MIB, description="With `state: messages`: bytes of all messages together."
    )
    semaphores: int = Field(250, ge=1, le=MIB, description="With `state: semaphores`: in the array.")
    cache: Literal["cold", "warm"] = Field(
        "cold",
        description="Whether the state file is dropped from the page cache before the restore: by "
        "drop_caches where the kernel permits it, else by posix_fadvise; the facts say which.",
    )
    steps: int = Field(
        100,
        ge=1,
        le=100_000,
        description="Steps that the unit counts before the save, and again after the restore.",
    )
    program: UserProgram | None = Field(
        None,
        description="A program of yours in place of the unit; without `state`, its sizes, and `steps`.",
    )

    ring: Ring | None = Field(
        None,
        description="Save all copies at one moment, as units that send each other messages in a ring.",
    )

    @field_validator("way", mode="before")
    @classmethod
    def _check_way(cls, value: object) -> object:
        if value == "criu":
            raise ValueError(
                "'criu' is not supported, as it refuses many kernels (`steelyard doctor` tries it here); "
                "use 'application', or `program` for a program of yours"
            )
        return value

    @field_validator("memory")
    @classmethod
    def _check_memory(cls, value: Size) -> Size:
        if not 1_000_000 <= value <= 64_000_000_000:
            raise ValueError(f"{value} is not from 1 MB to 64 GB")
        return value

    @model_validator(mode="after")
    def _check_state(self) -> Self:
        unused = (_OF_STATES - _OF_STATE[self.state]) & self.model_fields_set
        if unused:
            raise ValueError(f"{', '.join(sorted(unused))}: remove it; `state: {self.state}` has none")
        if self.queue % self.messages:
            raise ValueError(
                f"queue: {int(self.queue)} bytes are no whole number for each of {self.messages} messages"
            )
        return self

    @model_validator(mode="after")
    def _check_program(self) -> Self:
        if self.program and self.ring:
            raise ValueError("ring: remove it; only our own units send each other messages, not `program`")
        unused = {"state", *_OF_STATES} & self.model_fields_set if self.program else set()
        if unused:
            raise ValueError(f"{', '.join(sorted(unused))}: remove it; `program` has its own")
        return self

    def describe_job(self) -> dict[str, Any]:
        """What the program on the host is asked."""
        job = self.model_dump(mode="json", exclude={"directory", "ring"}, exclude_none=True)
        way = "program" if self.program else self.way if self.state == "memory" else "object"
        ring = {"ring": self.ring.describe()} if self.ring else {}
        sizes = {"memory": int(self.memory), "queue": int(self.queue)}
        return {**job, "role": "verifier", "way": way, **sizes, **ring}

    @property
    def size(self) -> int:
        """Bytes of the state, without what each way puts beside it."""
        sizes = {"messages": int(self.queue), "semaphores": 2 * self.semaphores}
        return sizes.get(self.state, int(self.memory))
