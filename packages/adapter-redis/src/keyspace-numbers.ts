/** As many databases as Redis has by default. */
export const DATABASES = 16;

/** Table numbers of the image, never reused. */
export const FIRST_TABLE = 0x0400;
export const SCRIPTS_TABLE = FIRST_TABLE + DATABASES;
/** Sixteen tables of elements and one of collections. */
export const FIRST_ELEMENTS_TABLE = 0x0420;
