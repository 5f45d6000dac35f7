"""redis-py's Lock between two members: acquire, wait, extend, reacquire, lose, release."""

import sys
import threading

import redis
from redis.exceptions import LockError, LockNotOwnedError

host, port, other_host, other_port = sys.argv[1:]
first = redis.Redis(host=host, port=int(port))
second = redis.Redis(host=other_host, port=int(other_port))

lock = first.lock("py:lock", timeout=30)
assert lock.acquire(blocking=False)
assert not second.lock("py:lock", timeout=30).acquire(blocking=False)
assert lock.owned() and lock.locked()
assert lock.extend(10) and 39 < first.pttl("py:lock") / 1000 <= 40
assert lock.extend(5, replace_ttl=True) and first.pttl("py:lock") <= 5000
assert lock.reacquire() and first.pttl("py:lock") > 29000

waiting = second.lock("py:lock", timeout=30, sleep=0.01, thread_local=False)
got = []
thread = threading.Thread(target=lambda: got.append(waiting.acquire(blocking_timeout=5)))
thread.start()
lock.release()
thread.join()
assert got == [True]
try:
    lock.release()
    raise AssertionError("released twice")
except LockError:
    pass

second.set("py:lock", "stolen")
try:
    waiting.release()
    raise AssertionError("released what somebody else holds")
except LockNotOwnedError:
    pass
first.delete("py:lock")

with first.pipeline() as pipe:
    pipe.watch("py:w")
    second.set("py:w", 1)
    pipe.multi()
    pipe.set("py:w", 2)
    try:
        pipe.execute()
        raise AssertionError("WATCH saw nothing")
    except redis.WatchError:
        pass

subscriber = second.pubsub()
subscriber.subscribe("py:channel")
assert subscriber.get_message(timeout=2)["type"] == "subscribe"
first.publish("py:channel", "hello")
assert subscriber.get_message(timeout=2)["data"] == b"hello"
assert sorted(first.scan_iter("py:*")) == [b"py:w"]
assert first.info()["role"] == "master"
assert first.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
assert len(first.client_list()) >= 1 and first.command_count() > 80
print("ok")
