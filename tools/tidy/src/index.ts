export * from './boundaries.ts';
export * from './finding.ts';
export * from './sources.ts';
