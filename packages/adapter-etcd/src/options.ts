import type { ClusterOption } from '@lockstep/state-machine';

/** How much history is kept without anybody asking for compaction. */
export const autoCompactionRevisions: ClusterOption<number> = {
  name: 'etcd-auto-compaction-revisions',
  default: 1_000_000,
  doc: 'Newest revisions that changed an etcd key whose history is kept; 0 keeps all.',
  min: 0,
  max: 1_000_000_000,
};
