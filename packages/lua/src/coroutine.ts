import { LuaClosure, type Signal, TAIL_CALL } from './closure.ts';
import { LuaError } from './error.ts';
import type { Frame } from './frame.ts';
import type { LuaState } from './state.ts';
import { type LuaFunction, LuaThread, type LuaValue, NativeFunction } from './value.ts';

// A generator's frame on the host's stack is larger than a plain function's.
const DEPTH_FACTOR = 3;
const RESUME_DEPTH = 16;

type Running<T> = Generator<LuaValue[], T, LuaValue[]>;

/** `coroutine.yield`. Reached as an ordinary call it stands behind a library function. */
export const yieldFunction = new NativeFunction('yield', (_args, state) => {
  throw state.raise('attempt to yield across metamethod/C-call boundary');
});

/** Calls a function from code that may yield: Lua functions may yield in turn, others not. */
export function* callSuspendable(
  target: LuaFunction,
  args: LuaValue[],
  state: LuaState,
): Running<LuaValue[]> {
  if (target === yieldFunction) {
    state.charge(4);
    return yield args;
  }
  if (!(target instanceof LuaClosure)) return target.call(args, state);
  const saved = state.top;
  let closure = target;
  let values = args;
  for (let isTail = false; ; isTail = true) {
    const { proto } = closure;
    const cost = proto.depthCost * DEPTH_FACTOR;
    state.enter(cost);
    state.charge(proto.weight);
    const frame: Frame = closure.activate(values, state, saved, isTail);
    state.top = frame;
    const signal: Signal = yield* proto.coroutineBody()(frame);
    state.top = saved;
    state.depth -= cost;
    if (signal === undefined) return [];
    if (signal !== TAIL_CALL) return signal as LuaValue[];
    closure = state.tailFunction as LuaClosure;
    values = state.tailArguments;
    state.tailFunction = null;
  }
}

/** A coroutine: a generator, and the part of the call stack that belongs to it. */
export class LuaCoroutine extends LuaThread {
  override status: 'suspended' | 'running' | 'normal' | 'dead' = 'suspended';
  private readonly target: LuaClosure;
  private generator: Running<LuaValue[]> | null = null;
  private top: Frame | null = null;
  private depth = 0;

  constructor(target: LuaClosure) {
    super();
    this.target = target;
  }

  /** Runs until the next yield or the end; throws LuaError for what the coroutine raised. */
  resume(state: LuaState, args: LuaValue[]): LuaValue[] {
    if (this.status !== 'suspended') throw new LuaError(`cannot resume ${this.status} coroutine`);
    const { top, depth, thread, nativeDepth } = state;
    const resumer = thread as LuaCoroutine | null;
    // Every level of the coroutine's own calls is entered again.
    state.charge(RESUME_DEPTH + this.depth);
    state.enterNative(RESUME_DEPTH + this.depth);
    if (resumer !== null) resumer.status = 'normal';
    this.status = 'running';
    state.thread = this;
    state.top = this.top;
    let isDone = true;
    try {
      if (this.generator === null) this.generator = callSuspendable(this.target, args, state);
      const result = this.generator.next(args);
      isDone = result.done === true;
      return result.value;
    } finally {
      this.status = isDone ? 'dead' : 'suspended';
      this.top = state.top;
      this.depth = state.depth - depth - RESUME_DEPTH;
      if (resumer !== null) resumer.status = 'running';
      state.top = top;
      state.depth = depth;
      state.nativeDepth = nativeDepth;
      state.thread = thread;
    }
  }
}
