/** The part of redlock 4 that the tests use; the package ships no types. */
declare module 'redlock' {
  export interface Lock {
    extend(ttlMs: number): Promise<Lock>;
    unlock(): Promise<void>;
  }

  export default class Redlock {
    constructor(clients: readonly unknown[], options?: { readonly retryCount?: number });
    lock(resource: string, ttlMs: number): Promise<Lock>;
  }
}
