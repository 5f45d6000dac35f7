export * from './listener.ts';
export * from './metrics.ts';
export type { OptionRow, OptionTable } from './options.ts';
export * from './status.ts';
