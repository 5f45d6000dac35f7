export * from './listener.ts';
export * from './metrics.ts';
export * from './status.ts';
