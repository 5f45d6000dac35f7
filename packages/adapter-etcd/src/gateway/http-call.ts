import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Call, RpcError, StreamCall } from '../session.ts';
import { toJson } from './json-codec.ts';
import { httpStatus, startLines, streamError } from './responses.ts';

/** A gateway request as its handler sees it. */
export class HttpCall implements Call {
  protected readonly response: ServerResponse;
  readonly #request: IncomingMessage;

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.#request = request;
    this.response = response;
  }

  get cancelled(): boolean {
    return this.response.destroyed && !this.response.writableFinished;
  }

  /** `Authorization` and headers beginning with Grpc-Metadata- become metadata. */
  metadata(name: string): string | undefined {
    const { headers } = this.#request;
    const value = headers[name === 'token' ? 'authorization' : `grpc-metadata-${name}`];
    return typeof value === 'string' ? value : undefined;
  }

  onCancelled(listener: () => void): void {
    this.response.once('close', () => {
      if (!this.response.writableFinished) listener();
    });
  }
}

/** A stream: one JSON line per response. The body was the only request. */
export class HttpStream extends HttpCall implements StreamCall<unknown, object> {
  readonly #responseType: string;
  #onRequest: (request: unknown) => void = () => undefined;
  #onHalfClose: () => void = () => undefined;

  constructor(request: IncomingMessage, response: ServerResponse, responseType: string) {
    super(request, response);
    this.#responseType = responseType;
  }

  /** Hands the body to the handler, then tells it that no more will come. */
  deliver(request: unknown): void {
    this.#onRequest(request);
    this.#onHalfClose();
  }

  onRequest(listener: (request: unknown) => void): void {
    this.#onRequest = listener;
  }

  onHalfClose(listener: () => void): void {
    this.#onHalfClose = listener;
  }

  send(response: object, sent?: () => void): number {
    if (this.response.destroyed || this.response.writableEnded) return 0;
    if (!this.response.headersSent) startLines(this.response, 200);
    const line = `${JSON.stringify({ result: toJson(this.#responseType, response) })}\n`;
    this.response.write(line, sent);
    return line.length;
  }

  /** The one request is there already: nothing to hold back. */
  pause(): void {}

  resume(): void {}

  end(error?: RpcError): void {
    if (this.response.destroyed || this.response.writableEnded) return;
    if (error === undefined) {
      this.response.end();
      return;
    }
    if (!this.response.headersSent) startLines(this.response, httpStatus(error));
    this.response.end(`${JSON.stringify(streamError(error))}\n`);
  }
}
