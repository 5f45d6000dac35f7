import { spawn } from 'node:child_process';

/** Runs a program to its end; what it wrote to its two outputs. */
export function runProgram(
  command: string,
  args: readonly string[],
  input = '',
): Promise<{ readonly output: string; readonly errors: string; readonly code: number | null }> {
  const child = spawn(command, args, { stdio: 'pipe' });
  let output = '';
  let errors = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ output, errors, code }));
  });
}
