// Package html writes the report that opens in a browser: one file with a verdict
// (or one recording without a suite), a script and a style sheet of its own, and
// nothing from anywhere else. Where the recordings are at hand it shows what was
// called, answered and said in them too.
//
// The file is a page with the run at a glance, then blocks of JSON that no browser
// executes, then the script, which makes rows of a block when somebody looks at it.
// Whatever came from a recording is made visible ([visible.String]) before it is
// written, is escaped so that it cannot end its block, and is only ever set as text;
// a Content-Security-Policy that names script and style by their hashes forbids the
// rest.
//
// It must not decide anything: it shows what packages grade and chain decided. It
// knows no file, flag or network; who calls it opens recordings.
package html
