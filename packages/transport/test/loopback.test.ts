import type { Scheduler } from '@lockstep/model';
import { LoopbackHub } from '../src/index.ts';
import { networkSuite, probe } from './network-suite.ts';

networkSuite('the loopback network', async () => {
  const scheduler: Scheduler = { post: (callback) => void setImmediate(callback) };
  const hub = new LoopbackHub(scheduler);
  return {
    async open(member, incarnation) {
      const opened = probe(hub.join(member, incarnation));
      opened.network.setPeers([1, 2].map((id) => ({ id, address: '' })));
      opened.network.start(opened.handler);
      return opened;
    },
    async until(condition) {
      for (let turn = 0; turn < 100 && !condition(); turn++) await new Promise(setImmediate);
      if (!condition()) throw new Error('the network came to rest before');
    },
    async close() {},
  };
});
