import type { IncomingMessage, ServerResponse } from 'node:http';
import { refusal } from '../admission.ts';
import type { Door } from '../door.ts';
import { StatusCode } from '../errors.ts';
import type { Route } from '../services/routes.ts';
import type { RpcError } from '../session.ts';
import { HttpCall, HttpStream } from './http-call.ts';
import { fromJson, JsonFormatError, toJson } from './json-codec.ts';
import { PATHS } from './paths.ts';
import { sendJson, sendUnaryError } from './responses.ts';

/** A gateway path bound to what answers it. */
interface Endpoint {
  readonly route: Route;
  readonly requestType: string;
  readonly responseType: string;
}

/**
 * The JSON gateway: POST /v3/… with proto3 JSON, on the same handlers as gRPC. Patroni, APISIX and
 * every client without gRPC come in here.
 */
export class Gateway {
  readonly #door: Door;
  readonly #endpoints = new Map<string, Endpoint>();

  constructor(door: Door, routes: readonly Route[]) {
    this.#door = door;
    const byPath = new Map(routes.map((route) => [route.rpc.path, route]));
    for (const [path, rpcPath, stem] of PATHS) {
      const packageName = rpcPath.slice(1, rpcPath.lastIndexOf('.'));
      const requestType = `${packageName}.${stem}Request`;
      const responseType = `${packageName}.${stem}Response`;
      this.#endpoints.set(path, { route: byPath.get(rpcPath)!, requestType, responseType });
    }
  }

  /** Answers when the path is one of the gateway's; false when it is not. */
  handle(path: string, request: IncomingMessage, response: ServerResponse): boolean {
    // The paths of an older generation mean the same.
    const endpoint = this.#endpoints.get(path.replace(/^\/v3beta\//, '/v3/'));
    if (endpoint === undefined) return false;
    if (request.method === 'OPTIONS') {
      response.writeHead(200, CORS).end();
    } else if (request.method !== 'POST') {
      response.writeHead(405, { ...CORS, Allow: 'POST', 'Content-Type': 'text/plain' });
      response.end('Method Not Allowed\n');
    } else {
      for (const [name, value] of Object.entries(CORS)) response.setHeader(name, value);
      this.#receive(endpoint, request, response);
    }
    return true;
  }

  #receive(endpoint: Endpoint, request: IncomingMessage, response: ServerResponse): void {
    // Base64 makes a third more of the bytes, and names come on top.
    const bytesMax = 2 * (this.#door.settings.requestBytesMax + 512 * 1024);
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= bytesMax) chunks.push(chunk);
      else chunks.length = 0;
    });
    request.on('end', () => {
      if (size > bytesMax) {
        const message = `grpc: received message larger than max (${size} vs. ${bytesMax})`;
        sendUnaryError(response, { code: StatusCode.ResourceExhausted, message });
      } else {
        this.#run(endpoint, Buffer.concat(chunks).toString('utf8'), request, response);
      }
    });
  }

  #run(endpoint: Endpoint, body: string, http: IncomingMessage, response: ServerResponse): void {
    let request: unknown;
    try {
      request = fromJson(endpoint.requestType, body.trim() === '' ? {} : JSON.parse(body));
    } catch (error) {
      if (!(error instanceof JsonFormatError || error instanceof SyntaxError)) throw error;
      sendUnaryError(response, { code: StatusCode.InvalidArgument, message: error.message });
      return;
    }
    const wantsLeader = http.headers['grpc-metadata-hasleader'] === 'true';
    const refused = refusal(this.#door, endpoint.route, wantsLeader, request);
    if (refused !== undefined) sendUnaryError(response, refused);
    else answer(endpoint, request, http, response);
  }
}

const CORS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Methods': 'POST, GET, OPTIONS, PUT, DELETE',
  'Access-Control-Allow-Headers': 'accept, content-type, authorization',
};

function answer(
  { route, responseType }: Endpoint,
  request: unknown,
  http: IncomingMessage,
  response: ServerResponse,
): void {
  if (route.kind === 'unary') {
    const done = (error: RpcError | undefined, message?: object): void => {
      if (error !== undefined) sendUnaryError(response, error);
      else sendJson(response, toJson(responseType, message!));
    };
    route.handler(request, new HttpCall(http, response), done);
    return;
  }
  const stream = new HttpStream(http, response, responseType);
  if (route.kind === 'server-stream') {
    route.handler(request, stream);
  } else {
    route.handler(stream);
    stream.deliver(request);
  }
}
