export { MUTANTS } from './catalogue.ts';
export { applyEdits, type Edit, type Mutant } from './mutant.ts';
export { type Kill, withTable } from './table.ts';
