export * from './contract.ts';
export { type FileOperation, MemoryDisk, MemoryFileSystem } from './memory-file-system.ts';
export { MemoryImageDirectory, MemoryImageDisk, MemoryImageStore } from './memory-image-store.ts';
export { MemoryLogContents, openMemoryLog } from './memory-log-store.ts';
export { openWal, type WalOptions } from './wal/open-wal.ts';
