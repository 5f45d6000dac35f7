import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { type Servers, waitForPort } from './processes.ts';

/** The other ceiling: a grpc-js server whose only method answers nothing, in its own process. */
const pass = (bytes: Buffer): Buffer => bytes;

function runServer(port: number): void {
  const server = new Server({ 'grpc.enable_channelz': 0 });
  const call = {
    path: '/bench.Empty/Call',
    requestStream: false,
    responseStream: false,
    requestSerialize: pass,
    requestDeserialize: pass,
    responseSerialize: pass,
    responseDeserialize: pass,
  };
  const nothing = Buffer.alloc(0);
  server.addService(
    { call },
    { call: (_: unknown, answer: (e: null, b: Buffer) => void) => answer(null, nothing) },
  );
  server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error) => {
    if (error !== null) throw error;
  });
}

export async function startEmptyGrpc(port: number): Promise<Servers> {
  const child = fork(fileURLToPath(import.meta.url), ['serve', String(port)]);
  await waitForPort(port);
  return {
    name: 'empty gRPC',
    ports: [port],
    async stop() {
      child.kill('SIGKILL');
    },
  };
}

const [, script, role, port] = process.argv;
if (script === fileURLToPath(import.meta.url) && role === 'serve') runServer(Number(port));
