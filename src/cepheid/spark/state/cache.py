"""Buckets that a worker keeps in memory between micro-batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar, cast

from cepheid.spark.state.bucket import Bucket
from cepheid.spark.state.change_bucket import open_bucket
from cepheid.spark.state.fingerprint import StreamFingerprint
from cepheid.spark.state.parts import NONCE
from cepheid.spark.state.store import StateStore
from cepheid.spark.worker import WorkerQuery


class AnyBucket(Protocol):
    """A bucket of one query or of many.

    functions: whether it runs functions of the user.
    """

    @property
    def functions(self) -> bool:
        """Whether it runs functions of the user."""

    @property
    def fingerprint(self) -> StreamFingerprint:
        """Of which stream it is."""

    @property
    def nonce(self) -> bytes:
        """Which state the bucket has in memory: it is used only if the store names the same."""

    def load(self, store: StateStore, blob: bytes | None = None) -> None:
        """Load the state that a store has."""

    def use_store(self, store: StateStore) -> None:
        """Read parts from the store of the running task."""


B = TypeVar("B", bound=AnyBucket)


class BucketCache:
    """Keeps buckets in memory, so that a worker reads from the store only what another worker has written since.

    The state store decides what is current: its header has the nonce of the state that was committed last. If a task
    failed, or ran on another worker too, the cached bucket has another nonce, and is read from the store again.

    room: how many bytes of buckets are kept.
    """

    def __init__(self, room: int) -> None:
        self.room = room
        self.buckets: dict[tuple[StreamFingerprint, int], tuple[AnyBucket, int]] = {}

    def take(
        self,
        worker_query: WorkerQuery,
        fingerprint: StreamFingerprint,
        number: int,
        store: StateStore,
        *,
        by_shape: bool = False,
    ) -> Bucket:
        """Remove a bucket of a query from the cache, or load it. The caller puts it back when its state is saved."""

        def opened(stale: Bucket | None) -> Bucket:
            return open_bucket(worker_query, fingerprint, by_shape=by_shape)

        return self.taken(opened, fingerprint, number, store)

    def taken(
        self, opened: Callable[[B | None], B], fingerprint: StreamFingerprint, place: int, store: StateStore
    ) -> B:
        """The same of a bucket of any kind.

        opened: opens one without state; it is given the cached one whose state is not current, if there is one.
        """
        header = store.header()
        cached = cast("B | None", self.buckets.pop((fingerprint, place), (None, 0))[0])
        if cached is not None and header is not None and header[:NONCE] == cached.nonce:
            cached.use_store(store)
            return cached
        bucket = opened(cached)
        if header is not None:
            bucket.load(store, header)
        return bucket

    def put(self, bucket: AnyBucket, place: int, size: int) -> None:
        """Keep a bucket, and evict those that were used longest ago."""
        if bucket.functions:  # others may have the same names when the stream is started again
            return
        self.buckets[bucket.fingerprint, place] = bucket, size
        used = sum(size for _, size in self.buckets.values())
        for key in list(self.buckets):
            if used <= self.room:
                break
            used -= self.buckets.pop(key)[1]
