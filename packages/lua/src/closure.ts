import { Cell, Frame } from './frame.ts';
import type { LuaState } from './state.ts';
import { LuaTable } from './table.ts';
import { LuaFunction, type LuaValue } from './value.ts';

/** What a statement asks of its surroundings: go on, leave the loop, tail call, or return. */
export type Signal = undefined | typeof BREAK | typeof TAIL_CALL | LuaValue[];
export const BREAK = 1;
export const TAIL_CALL = 2;

export type Evaluate = (frame: Frame) => LuaValue;
export type EvaluateMany = (frame: Frame) => LuaValue[];
export type Execute = (frame: Frame) => Signal;

/** Code that may yield: the generator gives what is yielded and takes what resume was given. */
export type Suspendable<T> = (frame: Frame) => Generator<LuaValue[], T, LuaValue[]>;

/** A compiled function, shared by all its closures and all runs. */
export interface Proto {
  readonly source: string;
  readonly parameterCount: number;
  readonly isVararg: boolean;
  /** Slot of the implicit local `arg` of a vararg function, or -1. */
  readonly argSlot: number;
  /** 5.1 fills `arg` only in functions that do not use `...`. */
  readonly argNeeded: boolean;
  readonly argCaptured: boolean;
  /** Slots of parameters that closures capture. */
  readonly capturedParameters: readonly number[];
  /** Steps charged at entry: the size of the body without its loops. */
  readonly weight: number;
  /** Depth units taken while it runs: the height of its syntax tree. */
  readonly depthCost: number;
  readonly body: Execute;
  /** The body for use in a coroutine, compiled when first asked for. */
  readonly coroutineBody: () => Suspendable<Signal>;
}

const NO_RESULTS: LuaValue[] = [];

/** A Lua function: a proto with its captured variables and its environment. */
export class LuaClosure extends LuaFunction {
  readonly proto: Proto;
  readonly upvalues: Cell[];
  environment: LuaTable;

  constructor(proto: Proto, upvalues: Cell[], environment: LuaTable) {
    super();
    this.proto = proto;
    this.upvalues = upvalues;
    this.environment = environment;
  }

  override call(args: LuaValue[], state: LuaState): LuaValue[] {
    const proto = this.proto;
    state.enter(proto.depthCost);
    state.charge(proto.weight);
    const saved = state.top;
    const frame = this.activate(args, state, saved, false);
    state.top = frame;
    const signal = proto.body(frame);
    state.top = saved;
    state.depth -= proto.depthCost;
    if (signal === undefined) return NO_RESULTS;
    if (signal === TAIL_CALL) return runTailCalls(state);
    return signal as LuaValue[];
  }

  /** The frame of a call. The arguments array becomes the slots: locals are written first. */
  activate(args: LuaValue[], state: LuaState, parent: Frame | null, isTail: boolean): Frame {
    const proto = this.proto;
    const frame = new Frame(state, this, parent, args, this.upvalues, isTail);
    if (proto.isVararg) {
      state.charge(args.length >> 2);
      frame.varargs = args.slice(proto.parameterCount);
      if (proto.argSlot >= 0) {
        const table = proto.argNeeded ? newArgTable(state, frame.varargs) : undefined;
        frame.slots[proto.argSlot] = proto.argCaptured ? new Cell(table) : table;
      }
    }
    const slots = frame.slots;
    for (let i = args.length; i < proto.parameterCount; i++) slots[i] = undefined;
    for (const slot of proto.capturedParameters) slots[slot] = new Cell(slots[slot] as LuaValue);
    return frame;
  }
}

function newArgTable(state: LuaState, values: LuaValue[]): LuaTable {
  state.allocate(64 + values.length * 16);
  const table = LuaTable.fromArray([...values]);
  table.set('n', values.length);
  return table;
}

// The frame that asked for the call is gone by now, so a chain of tail calls takes no stack.
function runTailCalls(state: LuaState): LuaValue[] {
  const saved = state.top;
  for (;;) {
    const target = state.tailFunction;
    const args = state.tailArguments;
    state.tailFunction = null;
    if (!(target instanceof LuaClosure))
      return target === null ? NO_RESULTS : target.call(args, state);
    const proto = target.proto;
    state.enter(proto.depthCost);
    state.charge(proto.weight);
    const frame = target.activate(args, state, saved, true);
    state.top = frame;
    const signal = proto.body(frame);
    state.top = saved;
    state.depth -= proto.depthCost;
    if (signal === undefined) return NO_RESULTS;
    if (signal !== TAIL_CALL) return signal as LuaValue[];
  }
}
