import { describe, expect, it } from 'vitest';
import { runLogStoreSuite } from '../src/log-store-suite.ts';
import { memoryLogFixture, walFixture } from './virtual-fixtures.ts';

const framework = { describe, it, expect };

runLogStoreSuite(framework, 'the memory log', memoryLogFixture);
runLogStoreSuite(framework, 'the write-ahead log on a memory disk', () => walFixture());
