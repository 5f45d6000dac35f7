import type { CommandSession } from '@lockstep/model';
import type { ChangeRequest, CloseRequest, MultiRequest } from './codec.ts';
import { changeCommand, multiCommand } from './procedures/changes.ts';
import { closeSessionCommand } from './procedures/sessions.ts';

/** The command of a request that goes through the log. The caller owns the result. */
export function commandOf(
  request: ChangeRequest | MultiRequest | CloseRequest,
  session: CommandSession,
  identities: Uint8Array,
): Uint8Array {
  switch (request.kind) {
    case 'closeSession':
      return closeSessionCommand(session);
    case 'multi':
      return multiCommand(session, identities, request.operations);
    case 'change':
      return changeCommand(session, identities, request.operation);
  }
}
