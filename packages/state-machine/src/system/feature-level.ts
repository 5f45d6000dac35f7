/**
 * What a cluster may write depends on its feature level (design §2), replicated and never lowered.
 * The leader raises it once every member on record, learners too, has said that it knows more;
 * until then nothing newer is written, so that a member may still go back to older software.
 *
 * 1. The first release.
 * 2. Adding members, tombstones of removed ones, joint configurations. Cluster option
 *    `preferred-leaders`; the commands of Redis that say so (`CommandSpec.level`).
 *
 * A new procedure, version of a procedure or option names its level as `since`. Code that writes
 * other new things (kinds of entries, frames, image rows) asks `StateView.featureLevel` first.
 */
export const FEATURE_LEVEL = 2;

/** Oldest level at which this software can take part. */
export const FEATURE_LEVEL_OLDEST = 1;
