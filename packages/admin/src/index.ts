export * from './listener.ts';
export type { MemberAction, MemberRow, MemberTable } from './members.ts';
export * from './metrics.ts';
export type { OptionRow, OptionTable } from './options.ts';
export * from './status.ts';
