import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster } from '../support/cluster.ts';
import { Redis } from '../support/redis.ts';
import { BodyReader, body, Op, ZooKeeper } from '../support/zookeeper.ts';

describe('pipelined requests of one connection', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await Cluster.start();
  });
  afterAll(() => cluster?.stop());

  it.each([0, 1, 2])(
    'ZooKeeper, member %i: own writes, events before replies, ping last',
    async (m) => {
      const port = cluster.members[m]?.ports.zookeeper ?? 0;
      const client = await ZooKeeper.open(port);
      const path = `/pipeline-${m}`;
      expect((await client.call(Op.create, body.create(path, '0'))).error).toBe(0);
      client.frames.length = 0;

      const requests = [];
      for (let i = 1; i <= 5; i++) {
        requests.push(client.encode(Op.setData, body.setData(path, String(i))));
        requests.push(client.encode(Op.getData, body.read(path, true)));
      }
      const ping = client.encode(Op.ping, body.none());
      const pong = client.reply(ping.xid);
      client.write(Buffer.concat([...requests, ping].map(({ frame }) => frame)));
      await pong;

      const setXids = requests.filter((_, i) => i % 2 === 0).map(({ xid }) => xid);
      const getXids = requests.filter((_, i) => i % 2 === 1).map(({ xid }) => xid);
      const order = client.frames.map(({ xid }) => xid);
      // set 1, get 1, then for each later set its event (of the watch that get left) before its reply.
      const expected = setXids.flatMap((xid, i) => [...(i > 0 ? [-1] : []), xid, getXids[i]]);
      expect(order).toEqual([...expected, -2]);
      const values = client.frames
        .filter(({ xid }) => getXids.includes(xid))
        .map((frame) => new BodyReader(frame.body).text());
      expect(values).toEqual(['1', '2', '3', '4', '5']);
      client.close();
    },
  );

  it.each([0, 1, 2])(
    'Redis, member %i: 1,000 × (SET, GET) in one write return every own value',
    async (m) => {
      const client = await Redis.open(cluster.members[m]?.ports.redis ?? 0);
      const commands = Array.from({ length: 1000 }, (_, i) => [
        ['SET', `p${m}`, i],
        ['GET', `p${m}`],
      ]).flat();
      const replies = await Promise.all(client.pipeline(commands));
      const expected = Array.from({ length: 1000 }, (_, i) => ['OK', String(i)]).flat();
      expect(replies).toEqual(expected);
      client.close();
    },
  );
});
