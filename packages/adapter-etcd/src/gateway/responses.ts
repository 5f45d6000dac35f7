import { type ServerResponse, STATUS_CODES } from 'node:http';
import { StatusCode } from '../errors.ts';
import type { RpcError } from '../session.ts';

/** HTTP status of a gRPC code, as etcd 3.6 maps them. */
const HTTP_STATUS: Readonly<Record<number, number>> = {
  [StatusCode.Cancelled]: 499,
  [StatusCode.InvalidArgument]: 400,
  [StatusCode.DeadlineExceeded]: 504,
  [StatusCode.NotFound]: 404,
  [StatusCode.PermissionDenied]: 403,
  [StatusCode.ResourceExhausted]: 429,
  [StatusCode.FailedPrecondition]: 400,
  [StatusCode.OutOfRange]: 400,
  [StatusCode.Unimplemented]: 501,
  [StatusCode.Unavailable]: 503,
  [StatusCode.Unauthenticated]: 401,
};

export function httpStatus(error: RpcError): number {
  return HTTP_STATUS[error.code] ?? 500;
}

const JSON_HEADERS = {
  'Content-Type': 'application/json',
  'Grpc-Metadata-Content-Type': 'application/grpc',
};

export function sendJson(response: ServerResponse, body: object, status = 200): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, JSON_HEADERS);
  response.end(JSON.stringify(body));
}

/** Starts a stream of JSON lines. */
export function startLines(response: ServerResponse, status: number): void {
  response.writeHead(status, JSON_HEADERS);
}

/**
 * Error bodies carry the members of every generation: up to 3.5 clients read `error`, from 3.6
 * on it is `message`, and Patroni recognises conditions by the former only.
 */
export function sendUnaryError(response: ServerResponse, error: RpcError): void {
  const { code, message } = error;
  sendJson(response, { error: message, message, code }, httpStatus(error));
}

/** The error line of a stream, in both generations' members. */
export function streamError(error: RpcError): object {
  const { code, message } = error;
  const status = httpStatus(error);
  const http_status = STATUS_CODES[status] ?? '';
  return { error: { grpc_code: code, http_code: status, message, http_status, code } };
}
