import type { Settings } from './settings.ts';
export function serve(settings: Settings): void {
  throw new Error(settings.name);
}
