import type { Door } from '../door.ts';
import type { AuthDisableResponse, AuthenticateResponse, AuthStatusResponse } from '../gen/rpc.ts';
import { type Call, type Done, rpcError, UNIMPLEMENTED } from '../session.ts';

/** Auth revision of a store whose users were never changed. */
const FIRST_AUTH_REVISION = 1;

/** The Auth service while authentication cannot be enabled: it says so in etcd's words. */
export class AuthService {
  readonly #door: Door;

  constructor(door: Door) {
    this.#door = door;
  }

  status(_request: unknown, _call: Call, done: Done<AuthStatusResponse>): void {
    const header = this.#door.header();
    done(undefined, { header, enabled: false, authRevision: FIRST_AUTH_REVISION });
  }

  /** Clients take this error to mean that they need no token. */
  authenticate(_request: unknown, _call: Call, done: Done<AuthenticateResponse>): void {
    done(rpcError('AUTH_NOT_ENABLED'));
  }

  /** Disabling what is disabled is no error. */
  disable(_request: unknown, _call: Call, done: Done<AuthDisableResponse>): void {
    done(undefined, { header: this.#door.header() });
  }

  refuse(_request: unknown, _call: Call, done: Done<never>): void {
    done(UNIMPLEMENTED);
  }
}
