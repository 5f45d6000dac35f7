import { ENUMS, type FieldRow, MESSAGES } from '../gen/schema.ts';

/**
 * The proto3 JSON mapping as etcd's gateway speaks it: names as in the proto files, bytes in
 * base64, 64-bit integers as strings, enums by name, fields of zero value left out.
 */

/** Input that is no JSON form of the message; `message` tells the client which field. */
export class JsonFormatError extends Error {
  override name = 'JsonFormatError';
}

type Message = Record<string, unknown>;
type JsonObject = Record<string, unknown>;

// ---- out ----

/** A message as a JSON value, fields in the order of the proto file. */
export function toJson(type: string, message: object): JsonObject {
  const json: JsonObject = {};
  for (const field of MESSAGES[type]!) {
    const [name, key, fieldType, flags] = field;
    const value = (message as Message)[key];
    if (value === undefined) continue;
    if (flags.includes('r')) {
      const values = value as readonly unknown[];
      if (values.length > 0) json[name] = values.map((one) => valueToJson(fieldType, one));
    } else if (fieldType in MESSAGES || !isZero(value)) {
      json[name] = valueToJson(fieldType, value);
    }
  }
  return json;
}

function isZero(value: unknown): boolean {
  if (value instanceof Uint8Array) return value.length === 0;
  return value === 0 || value === 0n || value === '' || value === false;
}

function valueToJson(type: string, value: unknown): unknown {
  if (type in MESSAGES) return toJson(type, value as object);
  if (type in ENUMS) return enumName(type, value as number);
  switch (type) {
    case 'bytes':
      return Buffer.from(value as Uint8Array).toString('base64');
    case 'int64':
    case 'uint64':
      return String(value);
    default:
      return value;
  }
}

function enumName(type: string, value: number): string | number {
  for (const [name, number] of Object.entries(ENUMS[type]!)) if (number === value) return name;
  return value;
}

// ---- in ----

/** The message a JSON value means; unknown fields are ignored. Throws JsonFormatError. */
export function fromJson(type: string, json: unknown): Message {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw new JsonFormatError(`${type} must be an object`);
  }
  const message: Message = {};
  for (const field of MESSAGES[type]!) {
    const [name, key] = field;
    const given = (json as JsonObject)[name] ?? (json as JsonObject)[key];
    message[key] = given === undefined || given === null ? absent(field) : read(field, given);
  }
  return message;
}

/** The value of a field that is not there. */
function absent([, , type, flags]: FieldRow): unknown {
  if (flags.includes('r')) return [];
  if (flags.includes('o') || type in MESSAGES) return undefined;
  switch (type) {
    case 'bytes':
      return Buffer.alloc(0);
    case 'string':
      return '';
    case 'bool':
      return false;
    case 'int64':
    case 'uint64':
      return flags.includes('n') ? 0 : 0n;
    default:
      return 0;
  }
}

function read(field: FieldRow, given: unknown): unknown {
  if (!field[3].includes('r')) return readValue(field, given);
  if (!Array.isArray(given)) throw new JsonFormatError(`${field[0]} must be an array`);
  return given.map((one) => readValue(field, one));
}

function readValue(field: FieldRow, given: unknown): unknown {
  const [name, , type, flags] = field;
  if (type in MESSAGES) return fromJson(type, given);
  if (type in ENUMS) return readEnum(name, type, given);
  switch (type) {
    case 'bytes':
      return readBytes(name, given);
    case 'string':
      return expectType(name, given, 'string');
    case 'bool':
      return expectType(name, given, 'boolean');
    default:
      return readInteger(name, type, given, flags.includes('n') || type === 'uint32');
  }
}

function expectType(name: string, given: unknown, type: 'string' | 'boolean'): unknown {
  if (typeof given !== type) throw new JsonFormatError(`${name} must be a ${type}`);
  return given;
}

const BASE64 = /^(?:[A-Za-z0-9+/_-]{4})*(?:[A-Za-z0-9+/_-]{2}(?:==)?|[A-Za-z0-9+/_-]{3}=?)?$/;

function readBytes(name: string, given: unknown): Buffer {
  if (typeof given !== 'string' || !BASE64.test(given)) {
    throw new JsonFormatError(`${name}: illegal base64 data`);
  }
  return Buffer.from(given, 'base64');
}

function readEnum(name: string, type: string, given: unknown): number {
  if (typeof given === 'number' && Number.isInteger(given)) return given;
  const value = typeof given === 'string' ? ENUMS[type]![given] : undefined;
  if (value === undefined) throw new JsonFormatError(`${name}: unknown value ${String(given)}`);
  return value;
}

const LIMITS = {
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
  uint64: [0n, 2n ** 64n - 1n],
  uint32: [0n, 2n ** 32n - 1n],
} as const;

/** Integers come as JSON numbers or as decimal strings. */
function readInteger(
  name: string,
  type: string,
  given: unknown,
  asNumber: boolean,
): number | bigint {
  const text = typeof given === 'number' ? String(given) : given;
  if (typeof text !== 'string' || !/^-?\d+$/.test(text)) {
    throw new JsonFormatError(`${name}: ${String(given)} is no integer`);
  }
  const value = BigInt(text);
  const [min, max] = LIMITS[type as keyof typeof LIMITS];
  if (value < min || value > max) throw new JsonFormatError(`${name}: ${text} is out of range`);
  if (!asNumber) return value;
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, Number(value)));
}
