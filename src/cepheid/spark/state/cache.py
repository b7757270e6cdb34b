"""Buckets that a worker keeps in memory between micro-batches."""

from __future__ import annotations

from cepheid.spark.state.bucket import Bucket
from cepheid.spark.state.change_bucket import open_bucket
from cepheid.spark.state.fingerprint import StreamFingerprint
from cepheid.spark.state.parts import NONCE
from cepheid.spark.state.store import StateStore
from cepheid.spark.worker import WorkerQuery


class BucketCache:
    """Keeps buckets in memory, so that a worker reads from the store only what another worker has written since.

    The state store decides what is current: its header has the nonce of the state that was committed last. If a task
    failed, or ran on another worker too, the cached bucket has another nonce, and is read from the store again.

    room: how many bytes of buckets are kept.
    """

    def __init__(self, room: int) -> None:
        self.room = room
        self.buckets: dict[tuple[StreamFingerprint, int], tuple[Bucket, int]] = {}

    def take(
        self,
        worker_query: WorkerQuery,
        fingerprint: StreamFingerprint,
        number: int,
        store: StateStore,
        *,
        by_shape: bool = False,
    ) -> Bucket:
        """Remove a bucket from the cache, or load it. The caller puts it back when its state is saved."""
        header = store.header()
        cached, _ = self.buckets.pop((fingerprint, number), (None, 0))
        if cached is not None and header is not None and header[:NONCE] == cached.nonce:
            cached.use_store(store)
            return cached
        bucket = open_bucket(worker_query, fingerprint, by_shape=by_shape)
        if header is not None:
            bucket.load(store, header)
        return bucket

    def put(self, bucket: Bucket, number: int, size: int) -> None:
        """Keep a bucket, and evict those that were used longest ago."""
        # Functions of the same names may be others when the stream is started again.
        if bucket.worker_query.query.compiled.functions:
            return
        self.buckets[bucket.fingerprint, number] = bucket, size
        used = sum(size for _, size in self.buckets.values())
        for key in list(self.buckets):
            if used <= self.room:
                break
            used -= self.buckets.pop(key)[1]
