import type { LinkInfo, MemberId, Network, NetworkHandler } from '@lockstep/model';
import { afterEach, describe, expect, it } from 'vitest';

/** A network under test with all that its handler was told. */
export interface Probe {
  readonly network: Network;
  readonly told: string[];
  readonly frames: string[];
  readonly links: LinkInfo[];
  handler: NetworkHandler;
}

/** What a twin must offer to run the suite. */
export interface NetworkWorld {
  /** Opens a started network of a member that keeps links to members 1 and 2. */
  open(member: MemberId, incarnation: number): Promise<Probe>;
  /** Resolves when the condition holds; rejects after some seconds. */
  until(condition: () => boolean): Promise<void>;
  close(): Promise<void>;
}

export function probe(network: Network): Probe {
  const told: string[] = [];
  const frames: string[] = [];
  const links: LinkInfo[] = [];
  const handler: NetworkHandler = {
    linkUp: (info) => {
      links.push(info);
      told.push(`up ${info.member}/${info.incarnation}`);
    },
    linkDown: (info) => told.push(`down ${info.member}/${info.incarnation}`),
    frame: (info, frame, channel) => {
      frames.push(`${info.member} ${channel} ${Buffer.from(frame).toString('latin1')}`);
    },
  };
  return { network, told, frames, links, handler };
}

/** What every Network promises to the replica. */
export function networkSuite(name: string, create: () => Promise<NetworkWorld>): void {
  describe(name, () => {
    let world: NetworkWorld;
    const bytes = (text: string) => Buffer.from(text, 'latin1');
    const openPair = async () => {
      world = await create();
      const [one, two] = [await world.open(1, 1), await world.open(2, 1)];
      await world.until(() => one.told.length === 1 && two.told.length === 1);
      return { one, two };
    };
    afterEach(() => world.close());

    it('tells both sides once that the link is up', async () => {
      const { one, two } = await openPair();
      expect(one.told).toEqual(['up 2/1']);
      expect(two.told).toEqual(['up 1/1']);
    });

    it('delivers the frames of one link in order, both ways', async () => {
      const { one, two } = await openPair();
      for (let i = 0; i < 100; i++) {
        expect(one.network.send(2, bytes(`a${i}`))).toBe(true);
        expect(two.network.send(1, bytes(`b${i}`))).toBe(true);
      }
      await world.until(() => one.frames.length === 100 && two.frames.length === 100);
      expect(two.frames).toEqual(Array.from({ length: 100 }, (_, i) => `1 control a${i}`));
      expect(one.frames).toEqual(Array.from({ length: 100 }, (_, i) => `2 control b${i}`));
    });

    it('carries bulk frames apart', async () => {
      const { one, two } = await openPair();
      let sent = false;
      await world.until(() => {
        sent ||= two.network.send(1, bytes('chunk'), 'bulk');
        return sent;
      });
      await world.until(() => one.frames.length === 1);
      expect(one.frames).toEqual(['2 bulk chunk']);
    });

    it('sends nothing to a member without a link', async () => {
      const { one } = await openPair();
      expect(one.network.send(3, bytes('x'))).toBe(false);
      expect(one.network.unsentBytes(3)).toBe(0);
    });

    it('tells once that the link is down, and links to the next life by a higher number', async () => {
      const { one, two } = await openPair();
      await new Promise<void>((resolve) => two.network.close(resolve));
      await world.until(() => one.told.length === 2);
      expect(one.network.send(2, bytes('lost'))).toBe(false);
      const again = await world.open(2, 2);
      await world.until(() => one.told.length === 3 && again.told.length === 1);
      expect(one.told).toEqual(['up 2/1', 'down 2/1', 'up 2/2']);
      expect(one.links[1]!.link).toBeGreaterThan(one.links[0]!.link);
    });

    it('ends a link that is reset at both sides, and makes another', async () => {
      const { one, two } = await openPair();
      two.network.reset(two.links[0]!, 'a frame is malformed');
      await world.until(() => one.told.length === 3 && two.told.length === 3);
      expect(one.told).toEqual(['up 2/1', 'down 2/1', 'up 2/1']);
      expect(two.told).toEqual(['up 1/1', 'down 1/1', 'up 1/1']);
      two.network.reset(two.links[0]!, 'late: that link is down already');
      expect(two.network.send(1, bytes('again'))).toBe(true);
      await world.until(() => one.frames.length === 1);
      expect(two.told.length).toBe(3);
    });

    it('ends the link to a member that is no peer any more', async () => {
      const { one, two } = await openPair();
      one.network.setPeers([]);
      await world.until(() => two.told.length === 2 && one.told.length === 2);
      expect(two.told).toEqual(['up 1/1', 'down 1/1']);
      expect(one.told).toEqual(['up 2/1', 'down 2/1']);
    });
  });
}
