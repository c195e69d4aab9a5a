// Package html writes the report that opens in a browser: one file with a verdict
// (or one recording without a suite), a script and a style sheet of its own, and
// nothing from anywhere else. Where the recordings are at hand it shows what was
// called, answered and said in them too.
//
// The file is a page with the run at a glance, a block of JSON (which no browser
// executes) that lists are made of, the script, then a block a trial, session and
// catalog, of which the script makes rows when somebody looks at it: so a page of any
// size can be read when its first part is there.
// Whatever came from a recording is made visible ([visible.String]) before it is
// written, is escaped so that it cannot end its block, and is only ever set as text;
// a Content-Security-Policy that names script and style by their hashes forbids the
// rest.
//
// It must not decide anything: it shows what packages grade and chain decided. It
// knows no file, flag or network; who calls it opens recordings.
package html
