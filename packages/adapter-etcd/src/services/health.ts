import type { Door } from '../door.ts';
import {
  type HealthCheckRequest,
  type HealthCheckResponse,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from '../gen/health.ts';
import { type Call, type Done, type Output, rpcError } from '../session.ts';

/** The standard gRPC health service; etcd knows the empty service name only. */
export class HealthService {
  readonly #door: Door;

  constructor(door: Door) {
    this.#door = door;
  }

  get #status(): ServingStatus {
    return this.#door.replica.serving ? ServingStatus.SERVING : ServingStatus.NOT_SERVING;
  }

  check(request: HealthCheckRequest, _call: Call, done: Done<HealthCheckResponse>): void {
    if (request.service !== '') {
      done(rpcError('UNKNOWN_SERVICE'));
      return;
    }
    done(undefined, { status: this.#status });
  }

  /** Unlike Check, an unknown name is an answer here, as the health protocol says. */
  watch(request: HealthCheckRequest, call: Output<HealthCheckResponse>): void {
    if (request.service !== '') {
      call.send({ status: ServingStatus.SERVICE_UNKNOWN });
      return;
    }
    let last: ServingStatus = this.#status;
    call.send({ status: last });
    const stop = this.#door.hub.onChanged(() => {
      if (this.#status === last) return;
      last = this.#status;
      call.send({ status: last });
    });
    call.onCancelled(stop);
  }
}
