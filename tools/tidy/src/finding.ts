/** Something a tidy check objects to: where and why, one line. */
export interface Finding {
  readonly where: string;
  readonly why: string;
}
