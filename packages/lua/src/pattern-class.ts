/** Character classes of Lua patterns in the C locale: bytes above 127 belong to none. */

function isUpper(c: number): boolean {
  return c >= 65 && c <= 90;
}

function isLower(c: number): boolean {
  return c >= 97 && c <= 122;
}

function isDigit(c: number): boolean {
  return c >= 48 && c <= 57;
}

function isAlphanumeric(c: number): boolean {
  return isUpper(c) || isLower(c) || isDigit(c);
}

/** Whether byte `c` is in the class of the letter `code`; an upper-case letter negates. */
export function isInClass(c: number, code: number): boolean {
  const lower = code | 32;
  const negated = isUpper(code);
  switch (negated || isLower(code) ? lower : 0) {
    case 97: // a
      return (isUpper(c) || isLower(c)) !== negated;
    case 99: // c
      return (c < 32 || c === 127) !== negated;
    case 100: // d
      return isDigit(c) !== negated;
    case 108: // l
      return isLower(c) !== negated;
    case 112: // p
      return (c > 32 && c < 127 && !isAlphanumeric(c)) !== negated;
    case 115: // s
      return (c === 32 || (c >= 9 && c <= 13)) !== negated;
    case 117: // u
      return isUpper(c) !== negated;
    case 119: // w
      return isAlphanumeric(c) !== negated;
    case 120: // x
      return (isDigit(c) || (c >= 97 && c <= 102) || (c >= 65 && c <= 70)) !== negated;
    case 122: // z
      return (c === 0) !== negated;
    default:
      return code === c;
  }
}
