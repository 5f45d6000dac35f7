/** The part of the package that these tests use; it ships no types. */
declare module 'node-zookeeper-client' {
  interface WatchedEvent {
    getName(): string;
  }

  interface Client {
    connect(): void;
    close(): void;
    once(event: 'connected' | 'disconnected', listener: () => void): void;
    create(
      path: string,
      data: Buffer,
      mode: number,
      done: (error: Error | null, path: string) => void,
    ): void;
    getData(path: string, watcher: (event: WatchedEvent) => void, done: () => void): void;
    setData(path: string, data: Buffer, done: () => void): void;
  }

  const zookeeper: {
    readonly CreateMode: { readonly EPHEMERAL_SEQUENTIAL: number };
    createClient(addresses: string, options: { sessionTimeout: number }): Client;
  };
  export default zookeeper;
}
