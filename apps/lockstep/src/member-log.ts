import pino, { type Logger } from 'pino';
import type { Settings } from './settings.ts';

/** The member's log: one line of text for people, or JSON. Written synchronously: a member that
 * stops because of an invariant must not lose the line that says why. */
export function openMemberLog(settings: Settings): Logger {
  const level = settings['log-level'];
  const destination = pino.destination({ dest: 1, sync: true });
  if (settings['log-format'] === 'json') return pino({ level, name: settings.name }, destination);
  return pino(
    { level },
    {
      write(line: string) {
        const {
          time,
          level: severity,
          msg,
        } = JSON.parse(line) as {
          time: number;
          level: number;
          msg: string;
        };
        const clock = new Date(time).toISOString().slice(11, 23);
        destination.write(`${clock} ${pino.levels.labels[severity] ?? severity} ${msg}\n`);
      },
    },
  );
}
