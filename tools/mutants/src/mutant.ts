/** One place where a mutant differs from the tree. */
export interface Edit {
  /** Path from the root of the repository. */
  readonly file: string;
  /** Text that occurs exactly once; any run of white space in it matches any other. */
  readonly find: string;
  readonly replace: string;
}

/** A defect that the simulator must find. */
export interface Mutant {
  /** Kebab-case and unique: `--only NAME`. */
  readonly name: string;
  /** What is wrong, as the table says it. */
  readonly title: string;
  /** Entry of the bug catalogue, or section of the design, that it is drawn from. */
  readonly catalogue: string;
  readonly edits: readonly Edit[];
  /** Only these invariants count as a kill: for a defect that upsets the course of a run so that it
   * meets other trouble first. Left out: any. */
  readonly killedBy?: readonly string[];
}

/**
 * The text of a file with the edits that concern it.
 *
 * @throws Error naming the mutant when a text to find does not occur exactly once: the tree has
 * moved on and the mutant must follow.
 */
export function applyEdits(mutant: Mutant, file: string, text: string): string {
  let changed = text;
  for (const edit of mutant.edits) {
    if (edit.file !== file) continue;
    const places = [...changed.matchAll(patternOf(edit.find))];
    const [place] = places;
    if (place === undefined || places.length !== 1) {
      throw new Error(
        `mutant ${mutant.name}: in ${file} this occurs ${places.length} times, not once:\n` +
          `${edit.find}\nAdapt the mutant to the present code.`,
      );
    }
    const end = place.index + place[0].length;
    changed = changed.slice(0, place.index) + edit.replace + changed.slice(end);
  }
  return changed;
}

/** White space is free, so that a formatter cannot break a mutant. */
function patternOf(find: string): RegExp {
  const words = find.trim().split(/\s+/);
  const escaped = words.map((word) => word.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'));
  return new RegExp(escaped.join('\\s+'), 'g');
}
