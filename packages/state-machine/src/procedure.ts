import { InvariantError, invariant, type LeaseKind } from '@lockstep/model';
import type {
  AnyProcedure,
  ClusterOption,
  Extension,
  Lease,
  Transaction,
  WaiterKind,
} from './contract.ts';
import { acceptsOption } from './system/option-range.ts';
import { CORE_OPTIONS } from './system/option-table.ts';

type LeaseEnded = (tx: Transaction, lease: Lease) => void;

/** Procedures, waiter kinds and lease hooks of all extensions, by what the log calls them. */
export class MachineRegistry {
  readonly #procedures = new Map<number, AnyProcedure>();
  readonly #waiters = new Map<string, WaiterKind>();
  readonly #leaseEnded = new Map<LeaseKind, LeaseEnded>();
  readonly #options = new Map<string, ClusterOption>();

  constructor(extensions: readonly Extension[]) {
    for (const option of Object.values(CORE_OPTIONS)) this.#addOption(option);
    for (const extension of extensions) {
      for (const option of extension.options ?? []) this.#addOption(option);
      for (const procedure of extension.procedures) this.#add(procedure);
      for (const kind of extension.waiters ?? []) {
        invariant(!this.#waiters.has(kind.name), `waiter kind ${kind.name} is defined twice`);
        this.#waiters.set(kind.name, kind);
      }
      for (const [kind, hook] of extension.leaseEnded ?? []) {
        invariant(!this.#leaseEnded.has(kind), `lease kind ${kind} has two hooks`);
        this.#leaseEnded.set(kind, hook);
      }
    }
  }

  #addOption(option: ClusterOption): void {
    const { name } = option;
    invariant(!this.#options.has(name), `option ${name} is defined twice`);
    invariant(acceptsOption(option, option.default), `default of option ${name} is out of range`);
    this.#options.set(name, option);
  }

  #add(procedure: AnyProcedure): void {
    const { id, version, name } = procedure;
    invariant(
      id >= 0 && id <= 65_535 && version >= 0 && version <= 255,
      `procedure ${name}: ${id}.${version} is out of range`,
    );
    const key = id * 256 + version;
    const other = this.#procedures.get(key);
    invariant(
      other === undefined,
      `procedures ${name} and ${other?.name} are both ${id}.${version}`,
    );
    this.#procedures.set(key, procedure);
  }

  /** Throws InvariantError when unknown: the log was written by newer software, and skipping the
   * command would make this member differ from the others. */
  procedure(id: number, version: number): AnyProcedure {
    const procedure = this.#procedures.get(id * 256 + version);
    if (procedure === undefined) {
      const known = this.#newest(id);
      const hex = `0x${id.toString(16).padStart(4, '0')}`;
      throw new InvariantError(
        known === undefined
          ? `the log holds procedure ${hex}, which this software does not know: upgrade it`
          : `the log holds version ${version} of ${known.name} (${hex}), this software knows ` +
              `versions up to ${known.version}: upgrade it`,
      );
    }
    return procedure;
  }

  /** Whether these bytes begin as a command known here that a log may hold; so do the none of an
   * emptied command. */
  knows(command: Uint8Array): boolean {
    const [low, high, version, flags] = command;
    if (low === undefined) return true;
    if (high === undefined || version === undefined || flags === undefined) return false;
    const procedure = this.#procedures.get((low + high * 256) * 256 + version);
    return flags <= 1 && procedure !== undefined && procedure.offline !== true;
  }

  /** Feature level from which that command may be written; 0 when unknown. */
  since(command: Uint8Array): number {
    const [low, high, version] = command;
    if (low === undefined || high === undefined || version === undefined) return 0;
    return this.#procedures.get((low + high * 256) * 256 + version)?.since ?? 0;
  }

  #newest(id: number): AnyProcedure | undefined {
    const versions = [...this.#procedures.values()].filter((one) => one.id === id);
    return versions.sort((a, b) => b.version - a.version)[0];
  }

  waiterKind(name: string): WaiterKind {
    const kind = this.#waiters.get(name);
    if (kind === undefined) throw new InvariantError(`waiter kind ${name} is unknown here`);
    return kind;
  }

  /** Undefined when no extension defines it. */
  option(name: string): ClusterOption | undefined {
    return this.#options.get(name);
  }

  /** Every option, by name. */
  options(): readonly ClusterOption[] {
    return [...this.#options.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  leaseEnded(kind: LeaseKind): LeaseEnded | undefined {
    return this.#leaseEnded.get(kind);
  }
}
