"""kazoo's recipes against a server, its address the only argument. Prints one line per recipe that
behaved; any surprise is an exception and a non-zero exit."""

import sys
import threading

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import (
    BadVersionError, NoAuthError, NodeExistsError, NoNodeError, NotEmptyError, RolledBackError,
    RuntimeInconsistency)
from kazoo.recipe.watchers import ChildrenWatch
from kazoo.security import make_digest_acl

HOSTS = sys.argv[1]
ROOT = "/kazoo-" + sys.argv[2] if len(sys.argv) > 2 else "/kazoo"
WAIT = 20


def client(**options):
    opened = KazooClient(hosts=HOSTS, timeout=8.0, **options)
    opened.start(timeout=WAIT)
    return opened


def passed(name):
    print(name, flush=True)


def basics(zk):
    zk.ensure_path(ROOT + "/a/b/c")
    path, stat = zk.create(ROOT + "/node", b"one", include_data=True)
    assert (path, stat.version, stat.data_length) == (ROOT + "/node", 0, 3), (path, stat)
    data, stat = zk.get(ROOT + "/node")
    assert data == b"one" and stat.created > 0, (data, stat)
    assert zk.set(ROOT + "/node", b"two", version=0).version == 1
    for call, error in [
            (lambda: zk.set(ROOT + "/node", b"x", version=9), BadVersionError),
            (lambda: zk.create(ROOT + "/node"), NodeExistsError),
            (lambda: zk.get(ROOT + "/none"), NoNodeError),
            (lambda: zk.delete(ROOT), NotEmptyError)]:
        try:
            call()
            raise AssertionError("no error")
        except error:
            pass
    names = [zk.create(ROOT + "/a/n-", sequence=True) for _ in range(3)]
    assert [name[-10:] for name in names] == ["0000000001", "0000000002", "0000000003"], names
    assert sorted(zk.get_children(ROOT + "/a"))[0] == "b"
    zk.sync(ROOT)
    assert zk.server_version() >= (3, 4), zk.server_version()
    passed("basics")


def transactions(zk):
    transaction = zk.transaction()
    transaction.create(ROOT + "/t", b"1")
    transaction.check(ROOT + "/t", 0)
    transaction.set_data(ROOT + "/t", b"2")
    results = transaction.commit()
    assert results[0] == ROOT + "/t" and results[1] is True and results[2].version == 1, results
    transaction = zk.transaction()
    transaction.create(ROOT + "/t/child")
    transaction.check(ROOT + "/t", 7)
    transaction.delete(ROOT + "/t")
    kinds = [type(result) for result in transaction.commit()]
    assert kinds == [RolledBackError, BadVersionError, RuntimeInconsistency], kinds
    passed("transactions")


def permissions(zk):
    acl = make_digest_acl("bob", "pw", all=True)
    zk.create(ROOT + "/secret", b"x", acl=[acl])
    try:
        zk.get(ROOT + "/secret")
        raise AssertionError("read without permission")
    except NoAuthError:
        pass
    bob = client(auth_data=[("digest", "bob:pw")])
    assert bob.get(ROOT + "/secret")[0] == b"x"
    assert bob.get_acls(ROOT + "/secret")[0] == [acl]
    bob.stop()
    zk.delete(ROOT + "/secret")
    passed("permissions")


def watches(zk, other):
    seen = []
    changed = threading.Event()

    def children(names):
        seen.append(sorted(names))
        if seen[-1] == ["x", "y"]:
            changed.set()

    zk.ensure_path(ROOT + "/watched")
    ChildrenWatch(zk, ROOT + "/watched", children)
    other.create(ROOT + "/watched/x")
    other.create(ROOT + "/watched/y")
    assert changed.wait(WAIT), seen
    values = []
    third = threading.Event()

    @zk.DataWatch(ROOT + "/watched/x")
    def data(value, _stat):
        values.append(value)
        if value == b"3":
            third.set()

    for value in (b"1", b"2", b"3"):
        other.set(ROOT + "/watched/x", value)
    assert third.wait(WAIT), values
    passed("watches")


def lock(zk, other):
    order = []
    first = zk.Lock(ROOT + "/lock", "first")
    second = other.Lock(ROOT + "/lock", "second")
    assert first.acquire(timeout=WAIT)
    assert not second.acquire(blocking=False)

    def wait():
        with second:
            order.append("second")

    waiter = threading.Thread(target=wait)
    waiter.start()
    while len(first.contenders()) < 2:
        pass
    assert first.contenders() == ["first", "second"], first.contenders()
    order.append("first")
    first.release()
    waiter.join(WAIT)
    assert order == ["first", "second"], order
    passed("lock")


def dead_holder(zk):
    holder = client()
    held = holder.Lock(ROOT + "/lease", "holder")
    assert held.acquire(timeout=WAIT)
    waiter = zk.Lock(ROOT + "/lease", "waiter")
    got = threading.Event()
    thread = threading.Thread(target=lambda: waiter.acquire(timeout=WAIT) and got.set())
    thread.start()
    while len(waiter.contenders()) < 2:
        pass
    holder.stop()
    assert got.wait(WAIT)
    thread.join(WAIT)
    waiter.release()
    holder.close()
    passed("dead holder")


def election(zk, other):
    leaders = []
    done = threading.Event()

    def lead(name, candidate):
        def run():
            leaders.append(name)
            candidate.cancel()
            if len(leaders) == 2:
                done.set()
        return run

    threads = []
    for name, one in (("a", zk), ("b", other)):
        candidate = one.Election(ROOT + "/election", name)
        thread = threading.Thread(target=candidate.run, args=(lead(name, candidate),))
        thread.start()
        threads.append(thread)
    assert done.wait(WAIT), leaders
    for thread in threads:
        thread.join(WAIT)
    passed("election")


def barrier(zk, other):
    bar = zk.Barrier(ROOT + "/barrier")
    bar.create()
    # A read at another member may lag behind; that is ZooKeeper's promise too.
    other.sync(ROOT)
    assert not other.Barrier(ROOT + "/barrier").wait(timeout=0.2)
    opened = threading.Event()
    thread = threading.Thread(
        target=lambda: other.Barrier(ROOT + "/barrier").wait(WAIT) and opened.set())
    thread.start()
    assert bar.remove()
    assert opened.wait(WAIT)
    thread.join(WAIT)
    both = []

    def enter(one):
        double = one.DoubleBarrier(ROOT + "/double", 2)
        double.enter()
        both.append(1)
        double.leave()

    threads = [threading.Thread(target=enter, args=(one,)) for one in (zk, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert len(both) == 2
    passed("barrier")


def queues(zk, other):
    queue = zk.LockingQueue(ROOT + "/queue")
    queue.put_all([b"1", b"2"])
    taker = other.LockingQueue(ROOT + "/queue")
    assert taker.get(timeout=WAIT) == b"1" and taker.consume()
    assert taker.get(timeout=WAIT) == b"2" and taker.consume()
    counter = zk.Counter(ROOT + "/counter")
    counter += 2
    other.sync(ROOT)
    assert other.Counter(ROOT + "/counter").value == 2
    semaphore = [one.Semaphore(ROOT + "/semaphore", max_leases=1) for one in (zk, other)]
    assert semaphore[0].acquire(timeout=WAIT)
    assert not semaphore[1].acquire(blocking=False)
    semaphore[0].release()
    assert semaphore[1].acquire(timeout=WAIT)
    semaphore[1].release()
    party = [one.Party(ROOT + "/party", name) for one, name in ((zk, "a"), (other, "b"))]
    for member in party:
        member.join()
    assert sorted(party[0]) == ["a", "b"]
    passed("queues")


def reattach(zk):
    states = []
    connected = threading.Event()

    def listener(state):
        states.append(state)
        if state == KazooState.CONNECTED:
            connected.set()

    zk.create(ROOT + "/mine", ephemeral=True)
    session, _ = zk.client_id
    zk.add_listener(listener)
    zk._connection._socket.shutdown(2)
    assert connected.wait(WAIT), states
    assert states == [KazooState.SUSPENDED, KazooState.CONNECTED], states
    assert zk.client_id[0] == session
    assert zk.exists(ROOT + "/mine").owner_session_id == session
    passed("reattach")


def main():
    one, two = client(), client()
    basics(one)
    transactions(one)
    permissions(one)
    watches(one, two)
    lock(one, two)
    dead_holder(one)
    election(one, two)
    barrier(one, two)
    queues(one, two)
    reattach(one)
    two.delete(ROOT, recursive=True)
    for each in (one, two):
        each.stop()
        each.close()


main()
